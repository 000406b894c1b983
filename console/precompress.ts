import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Plugin } from 'vite'

const compressBrotli = promisify(brotliCompress)
const compressGzip = promisify(gzip)
/** Smaller files are not compressed, because the extra headers cost more than compression saves. */
const bytesMin = 512

/** Writes a .br and a .gz file next to each text file, so that the server does not need to compress responses. */
export function precompress(): Plugin {
  return {
    name: 'errand-precompress',
    apply: 'build',
    async writeBundle({ dir = '' }) {
      const names = await readdir(dir, { recursive: true })
      await Promise.all(names.filter((name) => /\.(?:js|css|svg)$/.test(name)).map((name) => compress(join(dir, name))))
    },
  }
}

async function compress(file: string): Promise<void> {
  const plain = await readFile(file)
  if (plain.length < bytesMin) return
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length }
  const [small, compatible] = await Promise.all([compressBrotli(plain, { params }), compressGzip(plain, { level: 9 })])
  if (small.length < plain.length) await writeFile(`${file}.br`, small)
  if (compatible.length < plain.length) await writeFile(`${file}.gz`, compatible)
}
