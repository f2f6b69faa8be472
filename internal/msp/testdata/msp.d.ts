// Muse Session Protocol, version 1. Generated from the types that the host speaks with.
// Surface: sha256:a80ffe099a713456069fa7f71a067f53f6f559a97db10acda6ecbda9d8f2440e
// Unions that end in (string & {}) may grow: bear other words.

export interface ApprovalAmendment {
  durability: ApprovalAmendmentDurability;
  rulePreview: string;
}

export type ApprovalAmendmentDurability = "session" | "localPersistent" | (string & {});

export interface ApprovalChange {
  kind: string;
  status?: ApprovalPersistenceStatus;
  choiceId?: string;
  decision?: ApprovalDecision;
  executable?: boolean;
  reason?: string;
  reparsed?: boolean;
  requirementId?: ApprovalRequirementRef;
}

export interface ApprovalChoice {
  choiceId: string;
  decision: ApprovalDecision;
  label: string;
  scope: ApprovalChoiceScope;
  acceptsFeedback?: boolean;
  rulePreview?: string;
}

export type ApprovalChoiceScope = "once" | "session" | "localPersistent" | (string & {});

export interface ApprovalDecideParams {
  sessionId: string;
  commandId: string;
  approvalId: string;
  choiceId: string;
  requirementId: ApprovalRequirementRef;
  feedback?: string | null;
}

export interface ApprovalDecideResult {
  commandId: string;
  approvalId: string;
  status: CommandStatus;
  terminal: boolean;
}

export type ApprovalDecision = "approved" | "approvedForSession" | "approvedPolicyAmendment" | "denied" | "deniedPolicyAmendment" | "timedOut" | "abort" | (string & {});

export interface ApprovalListPendingParams {
  sessionId: string;
}

export interface ApprovalListPendingResult {
  approvals: ApprovalRequestParams[];
  userInputs: UserInputRequestParams[];
}

export type ApprovalMode = "allowAll" | "promptUnmatched" | "onRequest" | "denyUnmatched";

export type ApprovalModeApplyOutcome = "completed" | "noop" | (string & {});

export type ApprovalModeSource = "startup" | "replay" | "approvalReconfigure" | (string & {});

export interface ApprovalOrigin {
  kind: string;
  command?: string;
  url?: string;
}

export type ApprovalPersistenceStatus = "succeeded" | "failed" | (string & {});

export type ApprovalPolicyResult = "allow" | "deny" | (string & {});

export interface ApprovalRequestParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
  turnId: string;
  itemId: string;
  approvalId: string;
  availableChoices: ApprovalChoice[];
  currentRequirementId: ApprovalRequirementRef;
  judgeEscalated: boolean;
  protectedWrite: boolean;
  rawArgs: string;
  subject: ApprovalSubject;
  taskId: string;
  toolCallId: string;
  toolName: string;
  subagentOrigin?: ApprovalSubagentOrigin;
}

export interface ApprovalRequirementRef {
  approvalId: string;
  sourceIndex: number;
}

export interface ApprovalResolutionSummary {
  decision: string;
  resolvedBy: string;
  viewCursor: string;
}

export type ApprovalResolvedBy = "user" | "policy" | "llmJudge" | (string & {});

export interface ApprovalResolvedParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
  turnId: string;
  itemId: string;
  approvalId: string;
  decision: ApprovalDecision;
  policyResult: ApprovalPolicyResult;
  resolvedBy: ApprovalResolvedBy;
  stageEvidence: ApprovalStageEvidence[];
  amendment?: ApprovalAmendment;
  decidedAt?: string;
  decidedByCommandId?: string;
  subagentOrigin?: ApprovalSubagentOrigin;
}

export interface ApprovalStage {
  argv: string[];
  argvComplete: boolean;
  position: number;
  requirementId: ApprovalRequirementRef;
  resolution: ApprovalStageResolution;
  totalStages: number;
  suggestedPrefix?: ApprovalSuggestedPrefix;
}

export interface ApprovalStageEvidence {
  argv: string[];
  position: number;
  requirementId: ApprovalRequirementRef;
  resolution: ApprovalStageResolution;
  totalStages: number;
}

export interface ApprovalStageResolution {
  kind: string;
  argvPrefix?: string[];
  diagnostic?: string;
}

export interface ApprovalSubagentOrigin {
  subagentId: string;
  childRunId: string;
  childSessionId: string;
}

export interface ApprovalSubject {
  kind: string;
  access?: string;
  command?: string;
  host?: string;
  origin?: ApprovalOrigin;
  path?: string;
  port?: number;
  protocol?: string;
  stages?: ApprovalStage[];
  target?: string;
  toolName?: string;
  workspaceRoot?: string;
}

export interface ApprovalSuggestedPrefix {
  argvPrefix: string[];
  label: string;
}

export interface ApprovalUpdatedParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
  approvalId: string;
  availableChoices: ApprovalChoice[];
  change: ApprovalChange;
  currentRequirementId: ApprovalRequirementRef;
  subject: ApprovalSubject;
  subagentOrigin?: ApprovalSubagentOrigin;
}

export type AttentionFlag = "approvalPending" | "inputPending" | (string & {});

export type BackgroundInitiator = "user" | "timeout" | (string & {});

export interface BranchState {
  branch: string | null;
  workspaceRoot: string;
  vcs?: Vcs;
}

export type CapabilityName = "userShell" | "sessionMcp" | "sessionListStream" | "feedback" | (string & {});

export interface ClientCapabilities {
  experimentalApi?: boolean;
  optOutNotificationMethods?: string[];
  requestedCapabilities?: string[];
  userInputDialogs?: boolean;
}

export interface ClientInfo {
  name: string;
  version: string;
  title?: string;
}

export type CodeModeLanguage = "javascript" | (string & {});

export interface CodeModeOutputSpan {
  lengthBytes: number;
  offsetBytes: number;
  stream: CodeModeOutputStream;
}

export type CodeModeOutputStream = "transcript" | (string & {});

export interface CodeModeReceipt {
  cellItemId?: string;
  language?: CodeModeLanguage;
  outputSpans?: CodeModeOutputSpan[];
  sourceArg?: string;
}

export interface CommandAcceptedResult {
  commandId: string;
  status: CommandAckStatus;
}

export type CommandAckStatus = "accepted" | "noop";

export type CommandStatus = "accepted" | (string & {});

export type CompactStatus = "accepted" | "noop" | (string & {});

export type CompactionOutcome = "compacted" | "noop" | "failed" | "cancelled" | (string & {});

export type CompactionTrigger = "manual" | "auto" | (string & {});

export interface ComputerUseBlockedApp {
  bundleId: string;
  locked: boolean;
  prefix?: boolean;
}

export type ComputerUseChoice = "ask" | "alwaysAllow" | (string & {});

export interface ComputerUseSettings {
  blockedApps: ComputerUseBlockedApp[];
  computerControl: ComputerUseChoice;
  screenshots: ComputerUseChoice;
}

export interface ComputerUseSettingsReadParams {
  showBuiltIns?: boolean;
}

export interface ComputerUseSettingsUpdateParams {
  blockApps?: string[];
  computerControl?: ComputerUseChoice;
  screenshots?: ComputerUseChoice;
  unblockApps?: string[];
}

export type ContextPressureLevel = "normal" | "warning" | "blocked" | (string & {});

export interface ContextUsage {
  pressure: ContextPressureLevel;
  usedTokens: number;
  windowTokens?: number;
}

export interface CronReceipt {
  jobId?: string;
  jobs?: CronReceiptJob[];
  nextFireAtMs?: number;
}

export interface CronReceiptJob {
  jobId: string;
  nextFireAtMs: number;
}

export interface CumulativeCost {
  partial: boolean;
  usd: number;
}

export interface CumulativeTokenUsage {
  outputTokens: number;
  promptTokens: number;
  totalTokens: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  cost?: CumulativeCost;
}

export interface EffectiveApprovalModeState {
  lastCommandId: string | null;
  mode: ApprovalMode;
  source: ApprovalModeSource;
}

export interface EffectiveModel {
  modelId: string;
  providerId: string | null;
  source: ModelChangeSource;
}

export interface ErrorData {
  kind: ErrorKind;
  sessionId?: string;
  commandId?: string;
  itemId?: string;
  approvalId?: string;
  userInputId?: string;
  alignedNextOffset?: number;
  anchor?: string | null;
  availability?: string;
  capability?: CapabilityName;
  capacity?: number;
  choiceId?: string;
  currentRequirementId?: ApprovalRequirementRef;
  descriptor?: string;
  details?: Record<string, unknown>;
  earliestCursor?: string | null;
  lastTurnId?: string;
  latestBoundaryCursor?: string | null;
  limitBytes?: number;
  outputRef?: string;
  paths?: string[];
  reason?: string;
  resolution?: ApprovalResolutionSummary;
  retryable?: boolean;
  selector?: string;
  settlement?: UserInputSettlementSummary;
  uploadId?: string;
  viewCursor?: string;
}

export type ErrorKind = "parseError" | "invalidRequest" | "notInitialized" | "alreadyInitialized" | "methodNotFound" | "invalidParams" | "experimentalRequired" | "internal" | "pageEventTooLarge" | "outputResultTooLarge" | "overloaded" | "inputTooLarge" | "capabilityRequired" | "notFound" | "interrupted" | "cancelled" | "sessionNotFound" | "sessionInUse" | "sessionAmbiguous" | "forkBoundaryInvalid" | "sessionNotLoaded" | "sessionStreamMismatch" | "commandRejected" | "backpressured" | "skillNotFound" | "computerUseUnavailable" | "uploadNotFound" | "viewTruncated" | "outputUnavailable" | "boundaryPruned" | "boundaryUnusable" | "noBoundary" | "approvalNotFound" | "approvalAlreadyResolved" | "approvalChoiceInvalid" | "approvalRequirementStale" | "approvalReviewerUnavailable" | "userInputNotFound" | "userInputAlreadySettled" | "userInputAnswerInvalid" | "workspaceNotTrusted" | (string & {});

export interface ErrorObject {
  code: number;
  message: string;
  data?: ErrorData;
}

export interface ErrorResponse {
  jsonrpc: JsonRpcVersion;
  id: RequestId | null;
  error: ErrorObject;
}

export type FeedbackClassification = "bug" | "badResult" | "goodResult" | "other";

export type FeedbackSubmitOutcome = "uploaded" | "recorded" | "acceptedWithoutReceipt" | "trackingFailed" | "trackingUncertain" | "dark" | "disabled" | "noCredential" | "authRejected" | "rateLimited" | "failed" | (string & {});

export interface FeedbackSubmitParams {
  sessionId?: string;
  classification: FeedbackClassification;
  note: string;
  withFiles: boolean;
  attachSessionRecord?: boolean;
  clientArtifactsPath?: string;
}

export interface FeedbackSubmitResult {
  bundlePath: string;
  outcome: FeedbackSubmitOutcome;
  sessionRecordAttached: boolean;
  sessionRecordTruncated: boolean;
  cause?: string;
  localTracingNote?: string;
  retryAfterMs?: number;
  sessionNote?: string;
  taskId?: string;
  uploadId?: string;
}

export interface ForkCutPoint {
  lastTurnId: string;
}

export interface ForkProvenance {
  sessionId: string;
  commandId: string;
  cutCursor: string;
  cutExplicit: boolean;
}

export interface Goal {
  status: string;
  objective: string;
  percentComplete: number;
  currentWork?: string;
  nextWork?: string;
}

export interface GoalClearParams {
  sessionId: string;
  commandId: string;
  objective?: never;
}

export interface GoalCommandResult {
  commandId: string;
  turnId?: string;
  status: CommandStatus;
}

export interface GoalEditParams {
  sessionId: string;
  commandId: string;
  objective: string;
}

export interface GoalPauseParams {
  sessionId: string;
  commandId: string;
  objective?: never;
}

export interface GoalResumeParams {
  sessionId: string;
  commandId: string;
  objective?: never;
}

export interface GoalSetParams {
  sessionId: string;
  commandId: string;
  objective: string;
}

export type HistoryMode = "anchoredSnapshot" | "inline" | "snapshot" | "none" | (string & {});

export type HistoryNoneReason = "excluded" | "cursorSuffix" | "historyBudget" | "projectionUnavailable" | "projectionReadLimit" | (string & {});

export type HistoryPreference = "auto" | "inline" | "snapshot" | "anchored";

export interface HookCatalogEntry {
  enabled: boolean;
  event: HookEventName;
  handlerKind: HookHandlerKind;
  key: string;
}

export type HookEventName = "sessionStart" | "userPromptSubmit" | "preToolUse" | "permissionRequest" | "postToolUse" | "preCompact" | "postCompact" | "subagentStart" | "subagentStop" | "stop" | "sessionEnd" | "notification" | "postToolUseFailure" | "stopFailure" | "postToolBatch" | "interrupt" | "sessionFork" | "toolUseStart" | "preLLMCall" | "postLLMCall" | (string & {});

export type HookHandlerKind = "managed" | "user" | "project" | "plugin" | (string & {});

export interface HookListParams {
  sessionId: string;
}

export interface HookListResult {
  hooks: HookCatalogEntry[];
}

export type HookRunStatus = "completed" | "blocked" | "failed" | "timedOut" | "cancelled" | (string & {});

export type IfBusy = "queue" | "steer" | "replace";

export interface InitializeParams {
  clientInfo: ClientInfo;
  capabilities?: ClientCapabilities;
}

export interface InitializeResult {
  experimentalApi: boolean;
  grantedCapabilities: CapabilityName[];
  museHome: string;
  platformFamily: PlatformFamily;
  platformOs: PlatformOs;
  schema: SchemaInfo;
  serverInfo: ServerInfo;
  userAgent: string;
  sessionDurability?: SessionDurability;
}

export interface Item {
  itemId: string;
  kind: ItemKind;
  turnId?: string | null;
  revision: number;
  status: ItemStatus;
  recordedAt?: string;
  durationMs?: number;
  failureKind?: string;
  failureReason?: string;
  reason?: string;
  fallbackText?: string;
  truncated?: boolean;
  commandId?: string;
  text?: string;
  displayText?: string;
  attachments?: MessageAttachment[];
  steered?: boolean;
  retracted?: boolean;
  providerItemId?: string;
  summary?: string[];
  tool?: string;
  callId?: string;
  args?: string;
  approvalId?: string;
  taskId?: string;
  visibleOutput?: string;
  outputRef?: OutputRef;
  modelVisibleContent?: ModelVisibleContent[];
  patchRef?: OutputRef;
  patchSummary?: PatchSummary;
  toolReceipt?: ToolReceipt;
  background?: boolean;
  backgroundInitiator?: BackgroundInitiator;
  stopAvailable?: boolean;
  commandText?: string;
  exitCode?: number;
  exitSignal?: number;
  statusLine?: string;
  statusPhase?: string;
  statusAttempt?: StatusAttempt;
  statusChildren?: StatusChildren;
  statusHealth?: StatusHealth;
  statusProgress?: StatusProgress;
  statusStep?: StatusStep;
  trigger?: CompactionTrigger;
  outcome?: CompactionOutcome;
  strategyId?: string;
  summarizedThrough?: string;
  tokensBefore?: number;
  tokensAfter?: number;
  subagentId?: string;
  agentPath?: string;
  role?: string;
  objective?: string;
  depth?: number;
  blocking?: boolean;
  controlStatus?: SubagentControlStatus;
  childSessionId?: string;
  childSessionLogPath?: string;
  childPromptRefs?: OutputRef[];
  result?: SubagentResult;
  usage?: TokenUsage;
  workflowRunId?: string;
  scriptId?: string;
  triggerSource?: string;
  declaredPhase?: string;
  children?: WorkflowChild[];
  paused?: boolean;
  tokenBudget?: WorkflowTokenBudget;
  resumeFromRunId?: string;
  finalSummary?: string;
  reminderAgentId?: string;
  entryId?: string;
  generationId?: number;
  hookKey?: string;
  event?: HookEventName;
  runStatus?: HookRunStatus;
  message?: string;
  label?: string;
  sideSessionId?: string;
}

export interface ItemCompletedParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
  item: Item;
}

export interface ItemDeltaParams {
  sessionId: string;
  viewCursor: string;
  itemId: string;
  delta: string;
  field?: string;
}

export type ItemKind = "userMessage" | "agentMessage" | "reasoning" | "toolCall" | "userShell" | "subagent" | "workflow" | "reminderChild" | "compaction" | "hookRun" | "sideChat" | (string & {});

export type ItemReadOutputEncoding = "utf8" | "base64";

export interface ItemReadOutputParams {
  sessionId: string;
  itemId: string;
  outputRef: string;
  lengthBytes?: number;
  offsetBytes?: number;
}

export interface ItemReadOutputResult {
  byteLen: number;
  content: string;
  encoding: ItemReadOutputEncoding;
  eof: boolean;
  mediaType: string;
  offsetBytes: number;
}

export interface ItemStartedParams {
  sessionId: string;
  viewCursor: string;
  sourceRange?: SourceRange;
  item: Item;
}

export type ItemStatus = "inProgress" | "completed" | "failed" | "cancelled" | "rejected" | "timedOut" | (string & {});

export interface ItemUpdatedParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
  item: Item;
}

export type JsonRpcVersion = "2.0";

export interface LastTurn {
  turnId: string;
  terminal: TurnTerminal;
  error?: TurnError;
  reason?: string;
}

export interface MediaUploadParams {
  sessionId: string;
  commandId: string;
  chunkBase64: string;
  chunkCount: number;
  chunkIndex: number;
  mediaType: string;
  totalBytes: number;
  uploadId: string;
}

export interface MediaUploadResult {
  uploadId: string;
}

export interface MessageAttachment {
  mediaType: string;
  type: string;
  attachmentId?: string;
  height?: number;
  width?: number;
}

export interface ModelCatalogEntry {
  contextLimit: number | null;
  cost: ModelCost | null;
  description: string | null;
  displayLabel: string;
  isActive: boolean;
  isDefault: boolean;
  modelId: string;
  outputLimit: number | null;
  profileId: string | null;
  providerId: string;
  releaseDate: string | null;
  defaultReasoningEffort?: ReasoningEffort;
  reasoningEffortVariants?: ModelDescribedReasoningEffort[];
  variants?: ModelReasoningEffortVariants;
}

export type ModelCatalogSource = "providerCatalog" | "fakeCatalog" | "unresolvedCatalog" | "bundledCatalog" | "configCatalog" | (string & {});

export type ModelChangeSource = "user" | "default" | "policy" | (string & {});

export interface ModelCost {
  cached: string;
  currency: string | null;
  input: string;
  output: string;
}

export interface ModelDescribedReasoningEffort {
  tier: ReasoningEffort;
  description?: string;
}

export interface ModelListParams {
  sessionId?: string;
}

export interface ModelListResult {
  models: ModelCatalogEntry[];
  profileId: string | null;
  providerId: string;
  source: ModelCatalogSource;
}

export type ModelReasoningEffortVariants = ReasoningEffort[] | UnknownModelReasoningEffortVariants;

export interface ModelSelection {
  modelId: string;
  displayLabel?: string;
  profileId?: string | null;
  providerId?: string;
}

export interface ModelVisibleContent {
  mediaType: string;
  path: string;
  sourceToolName: string;
  type: string;
  height?: number;
  width?: number;
}

export interface Notification {
  jsonrpc: JsonRpcVersion;
  method: string;
  params?: Record<string, unknown>;
  emittedAtMs?: number;
}

export interface OutputRef {
  kind: string;
  availability: OutputRefAvailability;
  byteLen: number;
  id: string;
  uri: string;
  digest?: string;
  mediaType?: string;
  path?: string;
}

export type OutputRefAvailability = "available" | "missing" | "unsupported" | "accessFailed" | (string & {});

export interface PatchSummary {
  added: number;
  files: number;
  removed: number;
}

export interface PendingApprovalPointer {
  itemId?: string;
  approvalId: string;
  viewCursor: string;
}

export type PendingRequestKind = "approval" | "userInput" | (string & {});

export interface PendingRequestPointer {
  kind: PendingRequestKind;
  approvalId?: string;
  userInputId?: string;
  viewCursor: string;
}

export interface PendingUserInputPointer {
  itemId?: string;
  userInputId: string;
  viewCursor: string;
}

export type PlatformFamily = "unix" | "windows";

export type PlatformOs = "macos" | "linux" | "windows";

export interface PluginCatalogEntry {
  enabled: boolean;
  id: string;
  source: PluginSource;
  version: string;
}

export interface PluginListParams {
  sessionId: string;
}

export interface PluginListResult {
  plugins: PluginCatalogEntry[];
}

export type PluginSource = "curated" | "marketplaceUserAdded" | "foreignImport" | "nativeLocal" | (string & {});

export type ReasoningEffort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max" | "ultra";

export type ReasoningEffortChangeSource = "user" | "default" | "policy" | (string & {});

export interface ReasoningEffortState {
  reasoningEffort: ReasoningEffort;
  source: ReasoningEffortChangeSource;
}

export interface RecordPosition {
  id: string;
  sequence: number;
}

export interface Request {
  jsonrpc: JsonRpcVersion;
  id: RequestId;
  method: string;
  params?: Record<string, unknown>;
  trace?: TraceContext;
}

export type RequestId = number | string;

export type RequestReceipt = Record<string, never>;

export interface SchemaInfo {
  fingerprint: string;
  version: number;
}

export interface ServerInfo {
  name: string;
  version: string;
}

export interface Session {
  sessionId: string;
  kind?: SessionKind;
  name?: string;
  status: SessionStatus;
  activeTurnId: string | null;
  createdAt: string;
  forkedFrom: ForkProvenance | null;
  modelId: string | null;
  path: string;
  providerId: string | null;
  turnCount: number;
  updatedAt: string;
  workspaceRoot: string | null;
  approvalMode?: EffectiveApprovalModeState;
  attention?: AttentionFlag[];
  branch?: string;
  createdByClient?: ClientInfo;
  firstUserPrompt?: string;
  lastActivityAt?: string;
  parentSessionId?: string;
  sideFrom?: SideProvenance;
  title?: string;
}

export interface SessionApprovalModeChangedParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
  commandId: string;
  clientName: string;
  mode: ApprovalMode;
  source: ApprovalModeSource;
}

export interface SessionBranchChangedParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
  workspaceRoot: string;
  branch?: string | null;
  vcs?: Vcs;
}

export interface SessionClosedParams {
  sessionId: string;
  reason: SessionClosedReason;
  viewCursor: string | null;
}

export type SessionClosedReason = "idle" | "hostShutdown" | (string & {});

export interface SessionCompactParams {
  sessionId: string;
  commandId: string;
  turnId?: string;
}

export interface SessionCompactResult {
  commandId: string;
  status: CompactStatus;
  reason?: string;
}

export interface SessionConfig {
  mcpServers?: Record<string, SessionMcpServerConfig>;
}

export interface SessionContextUsageParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
  pressure: ContextPressureLevel;
  usedTokens: number;
  windowTokens?: number;
}

export type SessionDurability = "durable" | "ephemeral" | (string & {});

export interface SessionForkParams {
  sessionId: string;
  commandId: string;
  cutPoint?: ForkCutPoint;
  excludeItems?: boolean;
}

export interface SessionForkResult {
  history: SessionHistory;
  pendingRequests: PendingRequestPointer[];
  session: Session;
  viewCursor: string;
}

export interface SessionGoalChangedParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
  goal?: Goal | null;
}

export interface SessionHistory {
  items: Item[] | null;
  mode: HistoryMode;
  snapshot: ViewSnapshot | null;
  noneReason?: HistoryNoneReason;
}

export type SessionKind = "root" | "subagent" | (string & {});

export interface SessionListBranchFilter {
  anyOf: (string | null)[];
}

export interface SessionListChangedParams {
  session: Session;
}

export interface SessionListFilter {
  sessionId?: SessionListSessionIdFilter;
  branch?: SessionListBranchFilter;
  text?: SessionListTextFilter;
}

export interface SessionListParams {
  cursor?: string | null;
  filter?: SessionListFilter;
  limit?: number;
  updatedAfter?: string;
  workspaceRoot?: string;
}

export interface SessionListResult {
  nextCursor: string | null;
  sessions: Session[];
  appliedFilter?: SessionListFilter;
}

export interface SessionListSessionIdFilter {
  anyOf: string[];
}

export type SessionListTextField = "name" | "title";

export interface SessionListTextFilter {
  fields: SessionListTextField[];
  allOf?: string[];
  anyOf?: string[];
}

export type SessionMcpServerConfig = { transport: "stdio"; mode?: SessionMcpServerMode; command: string; args?: string[]; env?: Record<string, string>; framing?: SessionMcpStdioFraming } | { transport: "streamableHttp"; mode?: SessionMcpServerMode; url: string; headers?: Record<string, string> };

export type SessionMcpServerMode = "required" | "optional";

export type SessionMcpStdioFraming = "auto" | "contentLength" | "lineDelimitedJson";

export type SessionMcpTransport = "stdio" | "streamableHttp";

export interface SessionModelChangedParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
  modelId: string;
  source: ModelChangeSource;
  providerId?: string | null;
}

export interface SessionModelRouteUnservedParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
  commandId: string;
  installedProviderId: string;
  modelId: string;
  providerId?: string;
}

export interface SessionNameChangedParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
  name: string;
}

export interface SessionReadParams {
  sessionId: string;
  excludeItems?: boolean;
}

export interface SessionReadResult {
  history: SessionHistory;
  pendingRequests: PendingRequestPointer[];
  session: Session;
  viewCursor: string;
  lastTurn?: LastTurn;
}

export interface SessionReasoningEffortChangedParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
  reasoningEffort: ReasoningEffort;
  source: ReasoningEffortChangeSource;
}

export interface SessionRenameParams {
  sessionId: string;
  commandId: string;
  name: string;
}

export interface SessionRenameResult {
  commandId: string;
  name?: string;
  status: CommandStatus;
}

export interface SessionResumeParams {
  sessionId: string;
  commandId: string;
  config?: SessionConfig;
  cursor?: string | null;
  excludeItems?: boolean;
  history?: HistoryPreference;
}

export interface SessionResumeResult {
  history: SessionHistory;
  pendingRequests: PendingRequestPointer[];
  session: Session;
  viewCursor: string;
  lastTurn?: LastTurn;
}

export interface SessionSetApprovalModeParams {
  sessionId: string;
  commandId: string;
  mode: ApprovalMode;
}

export interface SessionSetApprovalModeResult {
  commandId: string;
  status: CommandStatus;
  applyOutcome: ApprovalModeApplyOutcome;
  effectiveMode: EffectiveApprovalModeState;
}

export interface SessionSetModelParams {
  sessionId: string;
  commandId: string;
  model: ModelSelection;
}

export interface SessionSetModelResult {
  commandId: string;
  status: CommandStatus;
}

export interface SessionSetReasoningEffortParams {
  sessionId: string;
  commandId: string;
  reasoningEffort: ReasoningEffort;
}

export interface SessionSetReasoningEffortResult {
  commandId: string;
  status: CommandStatus;
}

export interface SessionSideChatParams {
  sessionId: string;
  commandId: string;
}

export interface SessionSideChatResult {
  history: SessionHistory;
  pendingRequests: PendingRequestPointer[];
  session: Session;
  viewCursor: string;
}

export interface SessionStartParams {
  sessionId?: string;
  commandId: string;
  approvalMode?: ApprovalMode | null;
  config?: SessionConfig;
  modelId?: string;
  providerId?: string | null;
  workspaceRoot?: string;
  workspaceRoots?: string[];
}

export interface SessionStartResult {
  session: Session;
  viewCursor: string;
}

export interface SessionStartedParams {
  session: Session;
}

export type SessionStatus = "notLoaded" | "idle" | "running" | (string & {});

export interface SessionStatusChangedParams {
  sessionId: string;
  status: SessionStatus;
  viewCursor: string | null;
  attention?: AttentionFlag[];
}

export interface SessionTodoListChangedParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
  revision: number;
  items: TodoItem[];
  sourceTool: string;
}

export interface SessionTokenUsageParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
  turnId: string;
  cumulative: CumulativeTokenUsage;
  promptTokens: number;
  totalTokens: number;
  usage: TokenUsage;
  durationMs?: number;
  finishReason?: string;
  modelId?: string;
}

export interface SessionUserShellParams {
  sessionId: string;
  commandId: string;
  commandText: string;
}

export interface SessionUserShellResult {
  commandId: string;
  status: CommandStatus;
}

export type SessionViewHealth = "unavailable" | (string & {});

export interface SessionViewHealthChangedParams {
  sessionId: string;
  health: SessionViewHealth;
  noneReason?: HistoryNoneReason;
}

export interface SideProvenance {
  sessionId: string;
  commandId: string;
  cutCursor: string;
}

export type SkillActivationScope = "user" | "project" | "bundled" | "plugin";

export type SkillActivationState = "on" | "userInvocableOnly" | "off";

export interface SkillCatalogEntry {
  description: string;
  displayName: string;
  selector: string;
  source: SkillSource;
  argumentHint?: string;
  pluginId?: string;
}

export interface SkillChangedParams {
  sessionId: string;
}

export interface SkillListParams {
  sessionId: string;
}

export interface SkillListResult {
  skills: SkillCatalogEntry[];
}

export interface SkillSetActivationParams {
  sessionId: string;
  commandId: string;
  activation: SkillActivationState;
  scope: SkillActivationScope;
  selector: string;
}

export interface SkillSetActivationResult {
  commandId: string;
  status: CommandStatus;
  activation: SkillActivationState;
  previous: SkillActivationState;
  scope: SkillActivationScope;
  selector: string;
}

export type SkillSource = "bundled" | "user" | "project" | "plugin" | (string & {});

export interface SnapshotAnchor {
  boundaryCursor: string;
  summarizedThrough: string;
}

export interface SnapshotState {
  name?: string;
  activeTurn: TurnRef | null;
  approvalMode: EffectiveApprovalModeState;
  branch: BranchState | null;
  effectiveModel: EffectiveModel | null;
  goal: Goal | null;
  items: Item[];
  pendingApprovals: PendingApprovalPointer[];
  pendingUserInputs: PendingUserInputPointer[];
  queuedTurns: TurnRef[];
  todoList: TodoListState | null;
  tokenUsage: CumulativeTokenUsage;
  turnCount: number;
  contextUsage?: ContextUsage;
  reasoningEffort?: ReasoningEffortState;
}

export interface SourceRange {
  first: RecordPosition;
  last: RecordPosition;
  stream: StreamRef;
}

export interface StatusAttempt {
  attempt: number;
  operation: string;
  system: string;
  errorKind?: string;
  httpStatus?: number;
  maxAttempts?: number;
  nextAttempt?: number;
  retryDelayMs?: number;
}

export interface StatusChildren {
  active: number;
  cancelled: number;
  completed: number;
  failed: number;
  total?: number;
}

export interface StatusHealth {
  level: StatusHealthLevel;
  reason?: string;
}

export type StatusHealthLevel = "ok" | "waiting" | "degraded" | "retrying" | "blocked" | "failed" | (string & {});

export interface StatusProgress {
  current: number;
  total?: number;
  unit?: string;
}

export interface StatusStep {
  label: string;
  index?: number;
  total?: number;
}

export interface StreamRef {
  kind: string;
  id: string;
}

export type SubagentControlStatus = "accepted" | "starting" | "running" | "resultReady" | "closing" | "closed" | "recoveryPending" | "manualReconciliation" | (string & {});

export interface SubagentInputParams {
  sessionId: string;
  commandId: string;
  subagentId: string;
  body: string;
}

export interface SubagentOwnerReasonParams {
  sessionId: string;
  commandId: string;
  subagentId: string;
  reason?: string;
}

export interface SubagentResult {
  artifactRefs: string[];
  evidenceRefs: string[];
  summary: string;
  errorKind?: string;
  structuredData?: Record<string, unknown>;
  text?: string;
}

export interface SubagentTargetParams {
  sessionId: string;
  commandId: string;
  subagentId: string;
}

export interface SubscriptionUsage {
  observedAtMs: number;
  tier: string;
  weekly: SubscriptionUsageWeekly;
  window: SubscriptionUsageWindow;
}

export interface SubscriptionUsageWeekly {
  resetsAtMs: number;
  usedPercent: number;
}

export interface SubscriptionUsageWindow {
  resetsAtMs: number;
  usedPercent: number;
  windowDurationMins: number;
}

export interface SuccessResponse {
  jsonrpc: JsonRpcVersion;
  id: RequestId;
  result: Record<string, unknown>;
}

export interface TaskBackgroundParams {
  sessionId: string;
  commandId: string;
  taskId: string;
}

export interface TaskCommandResult {
  commandId: string;
  status: CommandStatus;
  taskId: string;
}

export interface TaskStopAllParams {
  sessionId: string;
  commandId: string;
}

export interface TaskStopAllResult {
  commandId: string;
  status: CommandStatus;
}

export interface TaskStopParams {
  sessionId: string;
  commandId: string;
  taskId: string;
}

export interface TodoItem {
  status: TodoStatus;
  text: string;
  activeForm?: string;
}

export interface TodoListState {
  revision: number;
  items: TodoItem[];
  sourceTool: string;
}

export type TodoStatus = "pending" | "inProgress" | "completed" | "cancelled" | (string & {});

export interface TokenUsage {
  cachedTokens: number;
  inputTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
}

export type ToolReceipt = { family: "cron"; operation: ToolReceiptOperation; outcome: ToolReceiptOutcome; details?: CronReceipt } | { family: "codeMode"; operation: ToolReceiptOperation; outcome: ToolReceiptOutcome; details?: CodeModeReceipt } | { family: string; operation: ToolReceiptOperation; outcome: ToolReceiptOutcome; details?: Record<string, unknown> };

export type ToolReceiptOperation = "create" | "delete" | "list" | "execute" | "wait" | (string & {});

export type ToolReceiptOutcome = "created" | "duplicate" | "deleted" | "missing" | "listed" | "rejected" | "completed" | "pending" | "failed" | "timedOut" | "cancelled" | (string & {});

export interface TraceContext {
  traceparent?: string;
  tracestate?: string;
}

export interface TurnCancelParams {
  sessionId: string;
  commandId: string;
  turnId?: string;
}

export interface TurnCancelResult {
  commandId: string;
  turnId: string;
  status: CommandStatus;
}

export interface TurnCompletedParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
  turnId: string;
  terminal: TurnTerminal;
  durationMs?: number;
  error?: TurnError;
  reason?: string;
  timeToFirstTokenMs?: number;
  usage?: TokenUsage;
}

export interface TurnError {
  kind: TurnErrorKind;
  message: string;
  retryable: boolean;
}

export type TurnErrorKind = "stepLimit" | "configError" | "projectionError" | "logError" | "workflowLaunchError" | "environmentError" | "modelError" | "launchError" | "authRequired" | (string & {});

export interface TurnForegroundCompletedParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
  turnId: string;
  blockingAgents: string[];
}

export interface TurnInputPart {
  type: TurnInputPartType;
  arguments?: string;
  base64Data?: string;
  height?: number;
  mediaType?: string;
  selector?: string;
  text?: string;
  uploadId?: string;
  width?: number;
}

export type TurnInputPartType = "text" | "image" | "skill" | "video";

export interface TurnInterruptParams {
  sessionId: string;
  commandId: string;
  turnId?: string;
  retract?: boolean;
}

export interface TurnInterruptResult {
  commandId: string;
  turnId: string;
  status: CommandStatus;
}

export interface TurnRef {
  commandId: string;
  turnId: string;
  displayText?: string;
  truncated?: boolean;
}

export interface TurnRetractedParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
  commandId: string;
  turnId: string;
}

export interface TurnRetryScheduledParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
  turnId: string;
  attempt: number;
  maxAttempts: number;
  nextAttempt: number;
  reason: string;
  retryDelayMs: number;
}

export type TurnStartDisposition = "started" | "queued" | "steered" | (string & {});

export interface TurnStartParams {
  sessionId: string;
  commandId: string;
  input: TurnInputPart[];
  displayText?: string;
  ifBusy?: IfBusy;
  reasoningEffort?: ReasoningEffort;
  workspaceRoots?: string[];
}

export interface TurnStartResult {
  commandId: string;
  turnId: string;
  status: CommandStatus;
  disposition: TurnStartDisposition;
  startedNewTurn: boolean;
}

export interface TurnStartedParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
  commandId: string;
  turnId: string;
}

export interface TurnSteerParams {
  sessionId: string;
  commandId: string;
  expectedTurnId: string;
  input: TurnInputPart[];
  reasoningEffort?: ReasoningEffort;
}

export interface TurnSteerResult {
  commandId: string;
  turnId: string;
  status: CommandStatus;
}

export type TurnTerminal = "completed" | "failed" | "cancelled" | (string & {});

export interface TurnUnqueueParams {
  sessionId: string;
  commandId: string;
  turnId: string;
}

export interface TurnUnqueueResult {
  commandId: string;
  turnId: string;
  status: CommandStatus;
}

export interface TurnUnqueuedParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
  commandId: string;
  turnId: string;
}

export type UnframedViewNotification = { method: "turn/started"; params: TurnStartedParams } | { method: "turn/completed"; params: TurnCompletedParams } | { method: "turn/retracted"; params: TurnRetractedParams } | { method: "turn/retryScheduled"; params: TurnRetryScheduledParams } | { method: "turn/unqueued"; params: TurnUnqueuedParams } | { method: "turn/foregroundCompleted"; params: TurnForegroundCompletedParams } | { method: "item/started"; params: ItemStartedParams } | { method: "item/updated"; params: ItemUpdatedParams } | { method: "item/completed"; params: ItemCompletedParams } | { method: "approval/requested"; params: ApprovalRequestParams } | { method: "approval/updated"; params: ApprovalUpdatedParams } | { method: "approval/resolved"; params: ApprovalResolvedParams } | { method: "userInput/requested"; params: UserInputRequestParams } | { method: "userInput/settled"; params: UserInputSettledParams } | { method: "session/modelChanged"; params: SessionModelChangedParams } | { method: "session/reasoningEffortChanged"; params: SessionReasoningEffortChangedParams } | { method: "session/goalChanged"; params: SessionGoalChangedParams } | { method: "session/todoListChanged"; params: SessionTodoListChangedParams } | { method: "session/branchChanged"; params: SessionBranchChangedParams } | { method: "session/tokenUsage"; params: SessionTokenUsageParams } | { method: "session/contextUsage"; params: SessionContextUsageParams } | { method: "session/approvalModeChanged"; params: SessionApprovalModeChangedParams } | { method: "session/modelRouteUnserved"; params: SessionModelRouteUnservedParams } | { method: "session/nameChanged"; params: SessionNameChangedParams } | { method: string; params: UnframedViewNotificationParams };

export interface UnframedViewNotificationParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
}

export type UnknownModelReasoningEffortVariants = "unknown";

export interface UsageReadResult {
  usage?: SubscriptionUsage;
}

export interface UserInputAnswer {
  questionId: string;
  freeText?: string;
  note?: string;
  selectedLabel?: string;
  selectedLabels?: string[];
}

export interface UserInputAnswerParams {
  sessionId: string;
  commandId: string;
  userInputId: string;
  answers: UserInputAnswer[];
}

export interface UserInputAnswerResult {
  commandId: string;
  userInputId: string;
  status: CommandStatus;
}

export interface UserInputCancelParams {
  sessionId: string;
  commandId: string;
  userInputId: string;
  reason?: string;
}

export interface UserInputCancelResult {
  commandId: string;
  userInputId: string;
  status: CommandStatus;
}

export interface UserInputClarification {
  content: string;
  format: string;
}

export interface UserInputClarifyParams {
  sessionId: string;
  commandId: string;
  userInputId: string;
  clarification: UserInputClarification;
}

export interface UserInputClarifyResult {
  commandId: string;
  userInputId: string;
  status: CommandStatus;
}

export interface UserInputEngagedParams {
  sessionId: string;
  userInputId: string;
}

export interface UserInputInterruptParams {
  sessionId: string;
  commandId: string;
  userInputId: string;
  answers?: UserInputAnswer[];
}

export interface UserInputInterruptResult {
  commandId: string;
  userInputId: string;
  status: CommandStatus;
}

export interface UserInputOption {
  label: string;
  description?: string;
  preview?: UserInputOptionPreview;
}

export interface UserInputOptionPreview {
  content: string;
  format: string;
}

export type UserInputOutcome = "answered" | "cancelled" | "interrupted" | "clarified" | "timedOut" | "aborted" | (string & {});

export interface UserInputQuestion {
  header: string;
  id: string;
  options: UserInputOption[];
  question: string;
  selection: UserInputSelection;
}

export interface UserInputRequestParams {
  sessionId: string;
  viewCursor: string;
  sourceRange?: SourceRange;
  turnId: string;
  itemId: string;
  userInputId: string;
  questions: UserInputQuestion[];
  toolCallId: string;
  toolName: string;
  autoResolutionMs?: number;
}

export interface UserInputSelection {
  mode: UserInputSelectionMode;
  maxSelections?: number;
  minSelections?: number;
}

export type UserInputSelectionMode = "single" | "multiple";

export interface UserInputSettledParams {
  sessionId: string;
  viewCursor: string;
  sourceRange: SourceRange;
  userInputId: string;
  answers: UserInputAnswer[];
  clarification: UserInputClarification | null;
  decidedAt: string | null;
  decidedByCommandId: string | null;
  outcome: UserInputOutcome;
  reason: string | null;
}

export interface UserInputSettlementSummary {
  outcome: string;
  viewCursor: string;
}

export type Vcs = "git" | "sapling" | (string & {});

export interface ViewGapParams {
  sessionId: string;
  after: string;
  next: string;
}

export type ViewPageAnchor = "latestCompaction" | (string & {});

export type ViewPageDirection = "forward" | "backward";

export interface ViewPageParams {
  sessionId: string;
  limit: number;
  anchor?: ViewPageAnchor;
  cursor?: string;
  direction?: ViewPageDirection;
}

export interface ViewPageResolvedAnchor {
  boundaryCursor: string;
}

export interface ViewPageResult {
  events: UnframedViewNotification[];
  nextCursor: string | null;
  resolvedAnchor?: ViewPageResolvedAnchor;
}

export interface ViewSnapshot {
  schemaVersion: number;
  state: SnapshotState;
  viewCursor: string;
  anchor?: SnapshotAnchor;
}

export interface ViewSubscribeParams {
  sessionId: string;
  after?: string;
}

export interface ViewSubscribeResult {
  viewCursor: string;
}

export interface ViewUnsubscribeParams {
  sessionId: string;
}

export type ViewUnsubscribeResult = Record<string, never>;

export interface WorkflowCancelParams {
  sessionId: string;
  commandId: string;
  workflowRunId: string;
}

export interface WorkflowChild {
  status: string;
  attempt: number;
  childId: string;
  durationMs?: number;
  failureKind?: string;
  failureReason?: string;
  label?: string;
  phase?: string;
  resultRef?: string;
  terminal?: TurnTerminal;
  usage?: TokenUsage;
}

export type WorkflowChildAction = "skip" | "retry";

export interface WorkflowChildControlParams {
  sessionId: string;
  commandId: string;
  workflowRunId: string;
  action: WorkflowChildAction;
  attempt: number;
  childId: string;
}

export interface WorkflowControlResult {
  commandId: string;
  status: CommandStatus;
}

export interface WorkflowPauseParams {
  sessionId: string;
  commandId: string;
  workflowRunId: string;
}

export interface WorkflowTokenBudget {
  total: number;
}

export interface MspMethods {
  /** First request of a connection: who the client is and what it wants. Nothing else is answered before it. */
  "initialize": { params: InitializeParams; result: InitializeResult };
  /** Sends a note to a running subagent. */
  "subagent/sendMessage": { params: SubagentInputParams; result: CommandAcceptedResult };
  /** Gives a subagent another task. */
  "subagent/followupTask": { params: SubagentInputParams; result: CommandAcceptedResult };
  /** Asks a subagent to yield. */
  "subagent/interrupt": { params: SubagentOwnerReasonParams; result: CommandAcceptedResult };
  /** Stops a subagent. */
  "subagent/stop": { params: SubagentOwnerReasonParams; result: CommandAcceptedResult };
  /** Goes on with a paused subagent. */
  "subagent/resume": { params: SubagentTargetParams; result: CommandAcceptedResult };
  /** Opens a closed subagent again. */
  "subagent/reopen": { params: SubagentTargetParams; result: CommandAcceptedResult };
  /** Closes a subagent. */
  "subagent/close": { params: SubagentOwnerReasonParams; result: CommandAcceptedResult };
  /** Takes the result of a subagent. */
  "subagent/readResult": { params: SubagentTargetParams; result: CommandAcceptedResult };
  /** Opens a new session and subscribes the connection to it. */
  "session/start": { params: SessionStartParams; result: SessionStartResult };
  /** Loads a stored session, subscribes to it, serves its history and asks again what waits for a decision. */
  "session/resume": { params: SessionResumeParams; result: SessionResumeResult };
  /** Makes a new session that begins as a copy of another one up to a turn. */
  "session/fork": { params: SessionForkParams; result: SessionForkResult };
  /** Lists stored sessions, the last changed first, page by page. */
  "session/list": { params: SessionListParams; result: SessionListResult };
  /** Reads a stored session without loading it or subscribing to it. */
  "session/read": { params: SessionReadParams; result: SessionReadResult };
  /** Opens a side session beside a loaded one. */
  "session/sideChat": { params: SessionSideChatParams; result: SessionSideChatResult };
  /** Submits a prompt; ifBusy says what becomes of it while a turn runs. */
  "turn/start": { params: TurnStartParams; result: TurnStartResult };
  /** Adds words to the running turn that the caller names. */
  "turn/steer": { params: TurnSteerParams; result: TurnSteerResult };
  /** Stops a turn ahead of everything else, and with retract takes its prompt back. */
  "turn/interrupt": { params: TurnInterruptParams; result: TurnInterruptResult };
  /** Stops a turn in the order of commands. */
  "turn/cancel": { params: TurnCancelParams; result: TurnCancelResult };
  /** Takes a queued prompt back before it starts; never stops a turn. */
  "turn/unqueue": { params: TurnUnqueueParams; result: TurnUnqueueResult };
  /** Asks for a compaction of the conversation; its course is shown as an item. */
  "session/compact": { params: SessionCompactParams; result: SessionCompactResult };
  /** Chooses the model from the next model call on. */
  "session/setModel": { params: SessionSetModelParams; result: SessionSetModelResult };
  /** Names a session. */
  "session/rename": { params: SessionRenameParams; result: SessionRenameResult };
  /** Chooses the effort of the turns that start from now on. */
  "session/setReasoningEffort": { params: SessionSetReasoningEffortParams; result: SessionSetReasoningEffortResult };
  /** Runs a command line of the user in the workspace; needs the capability userShell. */
  "session/userShell": { params: SessionUserShellParams; result: SessionUserShellResult };
  /** Lists the models that can be chosen. */
  "model/list": { params: ModelListParams; result: ModelListResult };
  /** Lists the skills of a session. */
  "skill/list": { params: SkillListParams; result: SkillListResult };
  /** Says who may use a skill. */
  "skill/setActivation": { params: SkillSetActivationParams; result: SkillSetActivationResult };
  /** Lists the hooks of a session. */
  "hook/list": { params: HookListParams; result: HookListResult };
  /** Lists the plugins of a session. */
  "plugin/list": { params: PluginListParams; result: PluginListResult };
  /** Moves a running task to the background. */
  "task/background": { params: TaskBackgroundParams; result: TaskCommandResult };
  /** Stops a task. */
  "task/stop": { params: TaskStopParams; result: TaskCommandResult };
  /** Stops all tasks of a session. */
  "task/stopAll": { params: TaskStopAllParams; result: TaskStopAllResult };
  /** Gives the session a goal and wakes it when it is idle. */
  "goal/set": { params: GoalSetParams; result: GoalCommandResult };
  /** Changes the words of the goal. */
  "goal/edit": { params: GoalEditParams; result: GoalCommandResult };
  /** Drops the goal. */
  "goal/clear": { params: GoalClearParams; result: GoalCommandResult };
  /** Pauses the work on the goal. */
  "goal/pause": { params: GoalPauseParams; result: GoalCommandResult };
  /** Goes on with the goal and wakes the session when it is idle. */
  "goal/resume": { params: GoalResumeParams; result: GoalCommandResult };
  /** Cancels a workflow. */
  "workflow/cancel": { params: WorkflowCancelParams; result: WorkflowControlResult };
  /** Skips or repeats one agent of a workflow. */
  "workflow/childControl": { params: WorkflowChildControlParams; result: WorkflowControlResult };
  /** Pauses a workflow. */
  "workflow/pause": { params: WorkflowPauseParams; result: WorkflowControlResult };
  /** Sends one chunk of a file that a prompt will refer to. */
  "media/upload": { params: MediaUploadParams; result: MediaUploadResult };
  /** Follows the events of a loaded session from a cursor, or from now on. */
  "view/subscribe": { params: ViewSubscribeParams; result: ViewSubscribeResult };
  /** Stops following a session. */
  "view/unsubscribe": { params: ViewUnsubscribeParams; result: ViewUnsubscribeResult };
  /** Reads durable events of a session, forward or backward from a cursor. */
  "view/page": { params: ViewPageParams; result: ViewPageResult };
  /** Reads a window of the stored output of an item. */
  "item/readOutput": { params: ItemReadOutputParams; result: ItemReadOutputResult };
  /** Decides the current requirement of an approval. */
  "approval/decide": { params: ApprovalDecideParams; result: ApprovalDecideResult };
  /** Lists everything of a session that waits for a decision. */
  "approval/listPending": { params: ApprovalListPendingParams; result: ApprovalListPendingResult };
  /** Chooses how actions that no rule decides are treated. */
  "session/setApprovalMode": { params: SessionSetApprovalModeParams; result: SessionSetApprovalModeResult };
  /** Answers all questions of a prompt. */
  "userInput/answer": { params: UserInputAnswerParams; result: UserInputAnswerResult };
  /** Declines the questions of a prompt. */
  "userInput/cancel": { params: UserInputCancelParams; result: UserInputCancelResult };
  /** Asks the model back instead of answering. */
  "userInput/clarify": { params: UserInputClarifyParams; result: UserInputClarifyResult };
  /** Stops the turn that asks, with the answers given so far. */
  "userInput/interrupt": { params: UserInputInterruptParams; result: UserInputInterruptResult };
  /** Reads the use of the subscription. */
  "usage/read": { params: undefined; result: UsageReadResult };
  /** Submits feedback; needs the capability feedback. */
  "feedback/submit": { params: FeedbackSubmitParams; result: FeedbackSubmitResult };
  /** Reads the computer-use settings. */
  "computerUseSettings/read": { params: ComputerUseSettingsReadParams; result: ComputerUseSettings };
  /** Changes computer-use settings, all or none of the given ones. */
  "computerUseSettings/update": { params: ComputerUseSettingsUpdateParams; result: ComputerUseSettings };
}

export interface MspNotifications {
  /** Ends the handshake; only now may the host push anything. */
  "initialized": undefined;
  /** A session was opened by session/start, session/fork or session/sideChat. */
  "session/started": SessionStartedParams;
  /** A session was unloaded in order. */
  "session/closed": SessionClosedParams;
  /** The skills changed; list them again. */
  "skill/changed": SkillChangedParams;
  /** A turn runs. */
  "turn/started": TurnStartedParams;
  /** A turn ended; the only end of a turn that ran. */
  "turn/completed": TurnCompletedParams;
  /** The prompt of an interrupted turn was taken back. */
  "turn/retracted": TurnRetractedParams;
  /** A model call failed and will be tried again. */
  "turn/retryScheduled": TurnRetryScheduledParams;
  /** A queued prompt was taken back; the only end of a turn that never ran. */
  "turn/unqueued": TurnUnqueuedParams;
  /** A turn has nothing left in the foreground and waits for agents. */
  "turn/foregroundCompleted": TurnForegroundCompletedParams;
  /** An item begins. */
  "item/started": ItemStartedParams;
  /** An item changed; replace it when the revision is higher. */
  "item/updated": ItemUpdatedParams;
  /** Text to append to a field of an item, text when none is named. Never paged. */
  "item/delta": ItemDeltaParams;
  /** An item in its final form; it may be the first that is heard of it. */
  "item/completed": ItemCompletedParams;
  /** Events between two cursors were not pushed; page them or resume. */
  "view/gap": ViewGapParams;
  /** An action waits for a decision. */
  "approval/requested": ApprovalRequestParams;
  /** An approval that waits changed. */
  "approval/updated": ApprovalUpdatedParams;
  /** An approval was decided. */
  "approval/resolved": ApprovalResolvedParams;
  /** The model asks the user. */
  "userInput/requested": UserInputRequestParams;
  /** Questions were answered or are no longer asked. */
  "userInput/settled": UserInputSettledParams;
  /** The user is at the questions: their countdown ends. */
  "userInput/engaged": UserInputEngagedParams;
  /** Another model takes effect. */
  "session/modelChanged": SessionModelChangedParams;
  /** Another effort takes effect. */
  "session/reasoningEffortChanged": SessionReasoningEffortChangedParams;
  /** A session became idle, running, or waits for something else than before. */
  "session/statusChanged": SessionStatusChangedParams;
  /** The goal changed; null when there is none. */
  "session/goalChanged": SessionGoalChangedParams;
  /** The to-do list was replaced. */
  "session/todoListChanged": SessionTodoListChangedParams;
  /** The checked-out branch changed; null when there is none. */
  "session/branchChanged": SessionBranchChangedParams;
  /** Tokens and money spent by a model call and by the session. */
  "session/tokenUsage": SessionTokenUsageParams;
  /** How full the window of the model is. */
  "session/contextUsage": SessionContextUsageParams;
  /** Another approval mode takes effect. */
  "session/approvalModeChanged": SessionApprovalModeChangedParams;
  /** The chosen model is not served by the provider of this host. */
  "session/modelRouteUnserved": SessionModelRouteUnservedParams;
  /** The session has another name. */
  "session/nameChanged": SessionNameChangedParams;
  /** The live view of a session was lost. */
  "session/viewHealthChanged": SessionViewHealthChangedParams;
  /** A row of the list changed; needs the capability sessionListStream. */
  "session/listChanged": SessionListChangedParams;
  /** The use of the subscription changed. */
  "usage/changed": SubscriptionUsage;
}

export interface MspServerRequests {
  /** Shows an action that waits for approval/decide. The reply is only a receipt. */
  "approval/request": { params: ApprovalRequestParams; result: RequestReceipt };
  /** Shows questions that wait for one of the userInput methods. The reply is only a receipt. */
  "userInput/request": { params: UserInputRequestParams; result: RequestReceipt };
}

export type MspMethod = keyof MspMethods;
export type MspNotification = keyof MspNotifications;
export type MspServerRequest = keyof MspServerRequests;
export type MspErrorDataKind = ErrorKind;
