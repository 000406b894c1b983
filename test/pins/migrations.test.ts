import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

test.each(['sqlite', 'postgres'])('keeps only the newest snapshot of %s', (engine) => {
  const folder = fileURLToPath(new URL(`../../server/store/${engine}/migrations/meta/`, import.meta.url))
  const { entries } = JSON.parse(readFileSync(`${folder}_journal.json`, 'utf8')) as { entries: { idx: number }[] }
  const newest = `${String(entries.at(-1)!.idx).padStart(4, '0')}_snapshot.json`
  expect(readdirSync(folder).filter((name) => name !== '_journal.json')).toEqual([newest])
})
