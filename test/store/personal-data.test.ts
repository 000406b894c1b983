import { readFileSync } from 'node:fs'
import { getTableName, is, Table } from 'drizzle-orm'
import { expect, test } from 'vitest'
import * as postgres from '../../server/store/postgres/schema.ts'
import * as sqlite from '../../server/store/sqlite/schema.ts'
import { personalData } from '../../server/store/erasure/personal-data.ts'

test('every table of both engines has an entry that says what the erasure of a user does with it', () => {
  const tables = [postgres, sqlite].flatMap((schema) =>
    Object.values<unknown>(schema).flatMap((table) => (is(table, Table) ? getTableName(table) : [])),
  )
  expect(Object.keys(personalData).toSorted()).toEqual([...new Set(tables)].toSorted())
})

test('the guide lists what is kept of an erased user, and why', () => {
  const guide = readFileSync('docs/guides/operations.md', 'utf8')
  const listed = [...guide.matchAll(/^\| `(\w+)` +\| (.+?) +\|$/gm)]
    .map(([, table = '', why]) => [table, why])
    .filter(([table]) => Object.hasOwn(personalData, table!))
  const kept = Object.entries(personalData).flatMap(([table, { kept: why }]) => (why === null ? [] : [[table, why]]))
  expect(listed).toEqual(kept)
  expect(kept.length).toBeGreaterThan(8)
})
