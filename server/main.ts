#!/usr/bin/env node
import { enableCompileCache } from 'node:module'

// The process entry: nothing is imported before the cache of compiled modules is on, which halves the start.
enableCompileCache()
// Databases, payloads, backups and secrets are for the eyes of whoever runs this.
process.umask(0o077)
const { runCommandLine } = await import('./cli/command-line.ts')
await runCommandLine(process.argv)
