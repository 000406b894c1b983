import { enableCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'

// The process entry: nothing is imported before the cache of compiled modules is on, which halves the start.
enableCompileCache()
// Databases, payloads, backups and secrets are for the eyes of whoever runs this.
process.umask(0o077)
// By itself V8 lets a heap grow to several times of what lives in it: by hundreds of megabytes after a burst of large bodies.
setFlagsFromString('--heap-growing-percent=50')
// Where requests wait for each other, as in the first seconds of a start, V8 finds that what it allocates for them lives long,
// and makes all of it old from then on: each request then takes nearly twice the time, until the next start.
setFlagsFromString('--no-allocation-site-pretenuring')
// No await at the top: what starts this may be a `require`.
void import('./cli/command-line.ts').then(({ runCommandLine }) => runCommandLine(process.argv))
