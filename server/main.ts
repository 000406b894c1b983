import { enableCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'

// Process entry point. Enables the cache of compiled modules before any import, which halves the startup time.
enableCompileCache()
// Only the operator may read databases, payloads, backups and secrets.
process.umask(0o077)
// V8 by default lets the heap grow to several times the live set: hundreds of MB after a burst of large bodies.
setFlagsFromString('--heap-growing-percent=50')
// When requests wait for each other, as in the first seconds after a start, V8 observes that their allocations live
// long. From then on it allocates all of them in the old generation. Until the next restart, each request would then
// take nearly twice the time.
setFlagsFromString('--no-allocation-site-pretenuring')
// No top-level await, because this file can be loaded by `require`.
void import('./cli/command-line.ts').then(({ runCommandLine }) => runCommandLine(process.argv))
