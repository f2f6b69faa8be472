package tool

const bashName = "bash.exe"

// bashPaths are where Git for Windows puts bash. The bash.exe of the system
// directory is another system's and is not taken.
var bashPaths = [...]string{
	`C:\Program Files\Git\bin\bash.exe`, `C:\Program Files\Git\usr\bin\bash.exe`,
	`C:\Program Files (x86)\Git\bin\bash.exe`,
}
