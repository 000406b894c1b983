import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { Writable } from 'node:stream'
import { UsageError } from '../../kernel/usage-error.ts'

/** `password` is true if the option has no value. If so, the password is read from a prompt. */
export type PasswordOptions = { password?: string | true; passwordStdin?: boolean }

export async function readPassword({ password, passwordStdin }: PasswordOptions): Promise<string | undefined> {
  if (passwordStdin) {
    if (typeof password === 'string') throw new UsageError('--password: must be omitted if --password-stdin is set.')
    return (await text(process.stdin)).replace(/\r?\n$/, '')
  }
  if (password !== true) {
    if (password !== undefined) process.stderr.write(`errand: warning: ${exposed}\n`)
    return password
  }
  if (!process.stdin.isTTY) {
    throw new UsageError(
      '--password: can prompt only in a terminal. Use --password-stdin and pipe the password to the command.',
    )
  }
  const typed = await ask('Password: ')
  if (typed !== (await ask('Repeat the password: ')))
    throw new UsageError('--password: the passwords do not match. Run the command again.')
  return typed
}

const exposed =
  '--password: other users of this machine can see the password in the process list. Omit the value to be prompted for it, or use --password-stdin.'

function ask(question: string): Promise<string> {
  const output = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output, terminal: true })
  // Creating the interface turns off the terminal's echo, so write the prompt afterwards.
  process.stderr.write(question)
  return new Promise((resolve, reject) => {
    lines.once('line', (line) => {
      resolve(line)
      lines.close()
    })
    // Ctrl+C and Ctrl+D close the interface without a line.
    lines.once('close', () => {
      process.stderr.write('\n')
      reject(new UsageError('--password: no password was entered. Run the command again.'))
    })
  })
}
