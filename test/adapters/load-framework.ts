import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { installTools } from '../reach/install-tools.ts'

/** Installs the frameworks, and returns a function that imports one of their packages. */
export async function loadFrameworks(tools = 'adapters'): Promise<(name: string) => Promise<any>> {
  const { resolve } = createRequire(join(await installTools(tools), 'here.js'))
  return (name) => import(pathToFileURL(resolve(name)).href)
}
