import { readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { engine, queryRows } from './test-engine.ts'

export type StoredPayloads = {
  ids(): Promise<string[]>
  read(payloadId: string): Promise<Buffer>
  replace(payloadId: string, content: Buffer): Promise<void>
  remove(payloadId: string): Promise<void>
  /** Moves the payloads' last use into the past by this many milliseconds. */
  age(payloadIds: readonly string[], ms: number): Promise<void>
}

export function storedPayloads(dataDir: string): StoredPayloads {
  return engine().name === 'PostgreSQL' ? inDatabase(dataDir) : inFiles(join(dataDir, 'payloads'))
}

function inFiles(root: string): StoredPayloads {
  const fileOf = (id: string) => join(root, id.slice(-2), `${id}.json`)
  return {
    ids: async () => namesIn(root).flatMap((name) => /pay_\w+/.exec(name)?.[0] ?? []),
    read: async (id) => readFileSync(fileOf(id)),
    replace: async (id, content) => writeFileSync(fileOf(id), content),
    remove: async (id) => rmSync(fileOf(id)),
    age: async (ids, ms) => {
      const at = new Date(Date.now() - ms)
      for (const id of ids) utimesSync(fileOf(id), at, at)
    },
  }
}

function namesIn(root: string): string[] {
  try {
    return readdirSync(root, { recursive: true, encoding: 'utf8' })
  } catch {
    return []
  }
}

const partBytes = 1_048_576

function inDatabase(dataDir: string): StoredPayloads {
  const query = (sql: string) => queryRows(dataDir, sql)
  const remove = async (id: string) => void (await query(`DELETE FROM payload_parts WHERE payload_id = '${id}'`))
  return {
    ids: async () => {
      const rows = await query('SELECT payload_id AS id FROM payload_parts WHERE part = 0')
      return rows.map(({ id }) => String(id))
    },
    read: async (id) => {
      const rows = await query(`SELECT content FROM payload_parts WHERE payload_id = '${id}' ORDER BY part`)
      return Buffer.concat(rows.map(({ content }) => content as Buffer))
    },
    replace: async (id, content) => {
      await remove(id)
      for (let part = 0; part * partBytes < content.length; part++) {
        const hex = content.subarray(part * partBytes, (part + 1) * partBytes).toString('hex')
        await query(`INSERT INTO payload_parts VALUES ('${id}', ${part}, '\\x${hex}', 0)`)
      }
    },
    remove,
    age: async (ids, ms) => {
      const list = ids.map((id) => `'${id}'`).join(', ')
      await query(`UPDATE payload_parts SET created_at = created_at - ${ms} WHERE payload_id IN (${list})`)
    },
  }
}
