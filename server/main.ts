import { enableCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'

// The process entry: nothing is imported before the cache of compiled modules is on, which halves the start.
enableCompileCache()
// Databases, payloads, backups and secrets are for the eyes of whoever runs this.
process.umask(0o077)
// By itself V8 lets a heap grow to several times of what lives in it: by hundreds of megabytes after a burst of large bodies.
setFlagsFromString('--heap-growing-percent=50')
// No await at the top: what starts this may be a `require`.
void import('./cli/command-line.ts').then(({ runCommandLine }) => runCommandLine(process.argv))
