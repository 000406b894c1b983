import { enableCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'

// Entry point of the process. The compile cache halves the startup time, so it is enabled before any other import.
enableCompileCache()
// Only the operator may read databases, payloads, backups and secrets.
process.umask(0o077)
// V8 by default lets the heap grow to several times the live set: hundreds of MB after a burst of large bodies.
setFlagsFromString('--heap-growing-percent=50')
// When requests wait for each other, as in the first seconds after a start, V8 observes that their allocations live
// long and from then on allocates all of them in the old generation. Each request would take nearly twice the time
// until the next restart.
setFlagsFromString('--no-allocation-site-pretenuring')
// Avoid a top-level await, because `require` may load this file.
void import('./cli/command-line.ts').then(({ runCommandLine }) => runCommandLine(process.argv))
