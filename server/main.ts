import { enableCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'

// The compile cache halves the startup time, so enable it before any other import.
enableCompileCache()
// Only the operator may read databases, payloads, backups and secrets.
process.umask(0o077)
// V8 by default lets the heap grow to several times the live set: hundreds of MB after a burst of large bodies.
setFlagsFromString('--heap-growing-percent=50')
// Requests queue up after a start, so V8 learns that their objects are long-lived and allocates later ones in the old
// generation. That nearly doubles the time per request until the next restart.
setFlagsFromString('--no-allocation-site-pretenuring')
// Avoid a top-level await, because `require` may load this file.
void import('./cli/command-line.ts').then(({ runCommandLine }) => runCommandLine(process.argv))
