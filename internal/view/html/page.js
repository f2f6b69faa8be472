'use strict';
(() => {
  const read = id => JSON.parse(document.getElementById(id).textContent);
  const meta = read('meta');
  const rows = read('rows');
  // A row: [ms or null, session, type, model, tool, call id, text, cut bytes, file, line, mark, more].
  const T = 0, S = 1, TYPE = 2, MODEL = 3, TOOL = 4, CALL = 5, TEXT = 6, CUT = 7, FILE = 8, LINE = 9, MARK = 10, MORE = 11;
  const types = ['user', 'assistant', 'thinking', 'tool_use', 'tool_result', 'system'];
  const marks = ['', 'approval', 'denied', 'permission'];
  const svgNS = 'http://www.w3.org/2000/svg';

  const el = (name, cls, text) => {
    const e = document.createElement(name);
    if (cls) e.className = cls;
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const svg = (name, attrs) => {
    const e = document.createElementNS(svgNS, name);
    for (const k in attrs) e.setAttribute(k, attrs[k]);
    return e;
  };
  const color = r => 'var(--' + (marks[r[MARK]] || types[r[TYPE]]) + ')';
  const stamp = ms => ms === null ? '' : new Date(ms).toISOString().replace('T', ' ').replace('Z', '');
  const byId = id => document.getElementById(id);

  // State lives in the address, so that a view can be linked to.
  const state = { q: '', type: '', session: '', project: '', tool: '', mark: '', from: '', to: '' };
  const fromHash = () => {
    const p = new URLSearchParams(location.hash.slice(1));
    for (const k in state) state[k] = p.get(k) || '';
  };
  const toHash = () => {
    const p = new URLSearchParams();
    for (const k in state) if (state[k]) p.set(k, state[k]);
    history.replaceState(null, '', '#' + p.toString());
  };

  let shown = [];
  const apply = () => {
    const q = state.q.toLowerCase();
    const type = types.indexOf(state.type);
    const from = state.from ? Date.parse(state.from + 'Z') : -Infinity;
    const to = state.to ? Date.parse(state.to + 'Z') : Infinity;
    const bounded = state.from || state.to;
    shown = rows.filter(r =>
      (type < 0 || r[TYPE] === type) &&
      (!state.session || meta.sessions[r[S]].id === state.session) &&
      (!state.project || meta.sessions[r[S]].project === state.project) &&
      (!state.tool || meta.tools[r[TOOL]] === state.tool) &&
      (!state.mark || (state.mark === 'approval' ? r[MARK] === 1 || r[MARK] === 2 : marks[r[MARK]] === state.mark)) &&
      (!bounded || r[T] !== null && r[T] >= from && r[T] <= to) &&
      (!q || r[TEXT].toLowerCase().includes(q) || r[CALL].toLowerCase().includes(q)));
    byId('count').textContent = shown.length + ' of ' + rows.length + ' rows';
    byId('list').textContent = '';
    page = 0;
    more();
    zoom();
    drawLanes();
    drawChart();
  };

  const results = new Map();
  for (const r of rows) if (r[TYPE] === 4 && r[CALL] && !results.has(r[S] + '/' + r[CALL])) results.set(r[S] + '/' + r[CALL], r);

  const detail = (box, title, text) => {
    if (!text) return;
    box.append(el('b', '', title), document.createTextNode(text));
  };
  const pretty = s => { try { return JSON.stringify(JSON.parse(s), null, 2); } catch { return s; } };
  const open = (row, r) => {
    if (row.classList.toggle('open') && !row.querySelector('.detail')) {
      const box = el('div', 'detail');
      detail(box, 'session', meta.sessions[r[S]].id + '  ' + meta.sessions[r[S]].project);
      detail(box, 'model', meta.models[r[MODEL]]);
      detail(box, 'call', r[CALL]);
      if (r[MORE]) detail(box, r[TYPE] === 3 ? 'arguments' : 'record', pretty(r[MORE]));
      const result = r[TYPE] === 3 && results.get(r[S] + '/' + r[CALL]);
      if (result) detail(box, 'result', result[TEXT]);
      detail(box, 'source', meta.files[r[FILE]] + ':' + r[LINE]);
      row.append(box);
    }
  };

  const pageSize = 300;
  let page = 0;
  const more = () => {
    const list = byId('list');
    for (const r of shown.slice(page * pageSize, (page + 1) * pageSize)) {
      const row = el('div', 'row');
      row.dataset.type = types[r[TYPE]];
      const s = meta.sessions[r[S]];
      row.append(el('span', 'mono dim', stamp(r[T])));
      const badge = el('span', 'badge', marks[r[MARK]] || types[r[TYPE]]);
      badge.style.color = color(r);
      row.append(badge);
      row.append(el('span', 'mono', meta.tools[r[TOOL]] || s.name || s.id.slice(0, 8)));
      const text = el('div', 'text', r[TEXT]);
      if (r[CUT]) text.append(el('span', 'dim', '\n[' + r[CUT] + ' more bytes in the log]'));
      text.tabIndex = 0;
      text.addEventListener('click', () => { if (!String(getSelection())) open(row, r); });
      text.addEventListener('keydown', e => { if (e.key === 'Enter') open(row, r); });
      row.append(text);
      list.append(row);
    }
    page++;
    byId('more').hidden = page * pageSize >= shown.length;
  };

  // Lanes and chart show the time of the rows that are shown.
  const calls = read('calls').filter(c => c[0] !== null).sort((a, b) => a[0] - b[0]);
  const width = 1000;
  let t0 = 0, t1 = 1;
  const x = t => (t - t0) / (t1 - t0) * width;
  const inRange = t => t !== null && t >= t0 && t <= t1;
  const zoom = () => {
    t0 = Infinity;
    t1 = -Infinity;
    for (const r of shown) if (r[T] !== null) { t0 = Math.min(t0, r[T]); t1 = Math.max(t1, r[T]); }
    byId('range').textContent = t0 <= t1 ? stamp(t0) + ' to ' + stamp(t1) + ' UTC' : 'no times';
    if (t0 > t1) { t0 = 0; t1 = 1; }
    if (t0 === t1) t1++;
  };

  // One lane for each session, a tick for each row, at most one a pixel and kind.
  const drawLanes = () => {
    const bySession = meta.sessions.map(() => new Map());
    for (const r of rows) {
      if (!inRange(r[T])) continue;
      const key = Math.round(x(r[T])) + (r[MARK] ? 'm' + r[MARK] : 't' + r[TYPE]);
      const seen = bySession[r[S]];
      if (!seen.has(key)) seen.set(key, r);
    }
    const box = byId('lanes');
    box.textContent = '';
    meta.sessions.forEach((s, i) => {
      if (!bySession[i].size) return;
      const lane = el('div', 'lane' + (s.child ? ' child' : ''));
      lane.dataset.session = s.id;
      lane.classList.toggle('off', Boolean(state.session) && state.session !== s.id);
      const label = el('button', '', (s.name || s.id.slice(0, 13) || 'no session') + '  ' + s.project);
      label.title = s.id + ' ' + s.project;
      label.addEventListener('click', () => set('session', state.session === s.id ? '' : s.id));
      const g = svg('svg', { viewBox: '0 0 ' + width + ' 20', preserveAspectRatio: 'none', height: 20 });
      const own = [...bySession[i].values()];
      const a = x(own[0][T]), b = x(own[own.length - 1][T]);
      g.append(svg('rect', { x: a, y: 9, width: Math.max(1, b - a), height: 2, fill: 'var(--line)' }));
      own.sort((p, q) => p[MARK] - q[MARK]);
      for (const r of own) {
        const at = x(r[T]);
        const tick = r[MARK]
          ? svg('path', { d: 'M' + at + ' 2 l4 8 l-4 8 l-4 -8 z', fill: color(r), class: 'mark ' + marks[r[MARK]] })
          : svg('rect', { x: at - 1, y: 4, width: 2, height: 12, fill: color(r), class: 'tick ' + types[r[TYPE]] });
        const title = svg('title', {});
        title.textContent = stamp(r[T]) + ' ' + (marks[r[MARK]] || types[r[TYPE]]) + ' ' + r[TEXT].slice(0, 200);
        tick.append(title);
        g.append(tick);
      }
      lane.append(label, g);
      box.append(lane);
    });
  };

  // Tokens and cost, summed up. A call: [ms, session, model, input, output, cached, cost in millionths or -1].
  const drawChart = () => {
    const own = calls.filter(c => inRange(c[0]) &&
      (!state.session || meta.sessions[c[1]].id === state.session) && (!state.project || meta.sessions[c[1]].project === state.project));
    byId('usage').hidden = !own.length;
    byId('chart').textContent = '';
    let input = 0, output = 0, cost = 0, unpriced = 0;
    const points = own.map(c => {
      input += c[3];
      output += c[4];
      if (c[6] < 0) unpriced++; else cost += c[6];
      return [x(c[0]), input, output, cost];
    });
    const g = svg('svg', { viewBox: '0 0 ' + width + ' 120', preserveAspectRatio: 'none', height: 120 });
    const line = (i, top, stroke, name) => {
      let y = 118, d = 'M0 118';
      for (const p of points) {
        d += ' L' + p[0].toFixed(1) + ' ' + y.toFixed(1);
        y = 118 - (top ? p[i] / top * 112 : 0);
        d += ' L' + p[0].toFixed(1) + ' ' + y.toFixed(1);
      }
      const path = svg('path', { d: d + ' L' + width + ' ' + y.toFixed(1), fill: 'none', stroke, 'stroke-width': 2, 'vector-effect': 'non-scaling-stroke' });
      const title = svg('title', {});
      title.textContent = name;
      path.append(title);
      g.append(path);
    };
    line(1, Math.max(input, output), 'var(--user)', 'input tokens');
    line(2, Math.max(input, output), 'var(--assistant)', 'output tokens');
    line(3, cost, 'var(--permission)', 'cost');
    byId('chart').append(g);
    byId('sums').textContent = own.length + ' model calls, ' + input.toLocaleString('en') + ' input (blue) and ' + output.toLocaleString('en') +
      ' output tokens (green), ' + (own.length > unpriced ? '$' + (cost / 1e6).toFixed(4) + ' (red)' : 'no known price') +
      (unpriced && own.length > unpriced ? ' and ' + unpriced + ' calls without a known price' : '');
  };

  const controls = ['q', 'type', 'session', 'project', 'tool', 'mark', 'from', 'to'];
  const set = (key, value) => { state[key] = value; show(); toHash(); apply(); };
  const show = () => { for (const k of controls) byId(k).value = state[k]; };
  const options = (id, values) => {
    for (const [value, label] of values) {
      const o = el('option', '', label);
      o.value = value;
      byId(id).append(o);
    }
  };
  const unique = list => [...new Set(list)].filter(Boolean).sort().map(v => [v, v]);
  options('type', types.map(t => [t, t]));
  options('session', meta.sessions.filter(s => s.id).map(s => [s.id, (s.name ? s.name + ' ' : '') + s.id.slice(0, 13)]));
  options('project', unique(meta.sessions.map(s => s.project)));
  options('tool', unique(meta.tools));
  options('mark', [['approval', 'approvals'], ['denied', 'denials'], ['permission', 'permission changes']]);
  let timer = 0;
  for (const k of controls) {
    byId(k).addEventListener(k === 'q' ? 'input' : 'change', e => {
      clearTimeout(timer);
      timer = setTimeout(() => set(k, e.target.value), k === 'q' ? 120 : 0);
    });
  }
  byId('clear').addEventListener('click', () => { for (const k in state) state[k] = ''; show(); toHash(); apply(); });
  byId('more').addEventListener('click', more);
  addEventListener('hashchange', () => { fromHash(); show(); apply(); });
  new IntersectionObserver(seen => { if (seen[0].isIntersecting && !byId('more').hidden) more(); }).observe(byId('more'));
  addEventListener('keydown', e => {
    if (e.key === '/' && document.activeElement.tagName !== 'INPUT') { e.preventDefault(); byId('q').focus(); }
  });

  for (const kind of [...types, 'approval', 'denied', 'permission']) {
    const item = el('span', '', '');
    const swatch = el('span', 'swatch');
    swatch.style.background = 'var(--' + kind + ')';
    item.append(swatch, document.createTextNode(kind));
    byId('legend').append(item);
  }
  fromHash();
  show();
  apply();
})();
