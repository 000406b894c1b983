import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { codeOf } from '../kernel/thrown.ts'

const starter = `// The agents of this service. Plain objects are enough; import { defineConfig } from 'errand' for types.
export default {
  agents: [
    {
      kind: 'code',
      id: 'hello',
      name: 'Hello',
      description: 'A first agent.',
      endpoints: {
        greet: {
          description: 'Greets somebody by name.',
          priceUsd: '0.0100',
          params: {
            type: 'object',
            properties: { name: { type: 'string', minLength: 1 } },
            required: ['name'],
          },
          run: async ({ params }: { params: { name: string } }) => ({ greeting: \`Hello, \${params.name}!\` }),
        },
      },
    },
  ],
}
`

/** Writes a starter configuration; never over a file that is there. */
export async function init(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const file = join(folder, 'errand.config.ts')
  try {
    await writeFile(file, starter, { flag: 'wx' })
  } catch (error) {
    if (codeOf(error) === 'EEXIST') {
      throw new Error(`${file} already exists; nothing was written.`, { cause: error })
    }
    throw error
  }
  process.stdout.write(
    [
      `Wrote ${file}. Next:`,
      '  errand users create --email you@example.com',
      '  errand credit --email you@example.com --usd 5.00',
      '  errand keys create --email you@example.com --name first',
      `  errand serve --config ${resolve(file)}`,
      'In a checkout, `npm run errand --` stands for `errand`.',
      '',
    ].join('\n'),
  )
}
