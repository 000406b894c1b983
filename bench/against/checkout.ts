import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BenchUser } from '../bench-data.ts'

export type Checkout = { root: string; template: string; users: readonly BenchUser[]; remove: () => void }

const here = fileURLToPath(new URL('../../', import.meta.url))

/** Returns this checkout, including uncommitted changes. */
export function thisCheckout(userCount: number): Checkout {
  return prepared(here, userCount, () => {})
}

/** Creates a worktree of `commit` in a temporary folder, with the packages from its lock file. */
export function checkOut(commit: string, userCount: number): Checkout {
  const root = mkdtempSync(join(tmpdir(), 'errand-bench-against-'))
  const git = (...args: string[]) => execFileSync('git', args, { cwd: here, stdio: ['ignore', 'pipe', 'pipe'] })
  const remove = () => {
    git('worktree', 'remove', '--force', root)
    rmSync(root, { recursive: true, force: true })
  }
  git('worktree', 'add', '--force', '--detach', root, commit)
  try {
    installPackages(root)
    return prepared(root, userCount, remove)
  } catch (error) {
    remove()
    throw error
  }
}

function installPackages(root: string): void {
  const [own, other] = [here, root].map((folder) => readFileSync(join(folder, 'package-lock.json'), 'utf8'))
  if (own === other) return symlinkSync(join(here, 'node_modules'), join(root, 'node_modules'))
  execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: root, stdio: ['ignore', 2, 2] })
}

/** Runs the checkout's own `prepareData`, because another commit may have a different schema. */
function prepared(root: string, userCount: number, onRemove: () => void): Checkout {
  const script = `const { prepareData } = await import(process.argv[1])
    console.log(JSON.stringify(await prepareData(Number(process.argv[2]))))`
  const args = ['--input-type=module', '--eval', script, join(root, 'bench/bench-data.ts'), String(userCount)]
  const output = execFileSync(process.execPath, args, {
    cwd: root,
    maxBuffer: 64_000_000,
    stdio: ['ignore', 'pipe', 2],
  })
  const { template, users } = JSON.parse(output.toString()) as Pick<Checkout, 'template' | 'users'>
  const remove = () => {
    rmSync(template, { recursive: true, force: true })
    onRemove()
  }
  return { root, template, users, remove }
}
