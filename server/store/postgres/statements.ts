import { drizzle, type NodePgDatabase } from './drizzle.ts'
import type { PgClient } from './driver.ts'

// Statements are parsed and planned by the server once per connection, under a name: a plan per query took longer than
// the query.

type Query = { prepare(name: string): { execute(values?: Record<string, unknown>): Promise<unknown> } }
type Rows<Q extends Query> = Awaited<ReturnType<ReturnType<Q['prepare']>['execute']>>
type Row<Q extends Query> = Rows<Q> extends readonly (infer One)[] ? One : never

export type Statement<Q extends Query> = {
  all(values?: Record<string, unknown>): Promise<Row<Q>[]>
  get(values?: Record<string, unknown>): Promise<Row<Q> | undefined>
  /** How many rows it changed. */
  run(values?: Record<string, unknown>): Promise<number>
}
export type Statements<Queries extends Record<string, Query>> = { [Name in keyof Queries]: Statement<Queries[Name]> }

type Prepared = { orm: NodePgDatabase; byRoom: Map<string, unknown> }
const preparedOf = new WeakMap<PgClient, Prepared>()

/** The statements of one room (`name` is its own), made anew for each connection that runs one of them. */
export function statementsOf<Queries extends Record<string, Query>>(
  name: string,
  build: (orm: NodePgDatabase) => Queries,
): (connection: { client: PgClient }) => Statements<Queries> {
  return ({ client }) => {
    let prepared = preparedOf.get(client)
    if (!prepared) {
      prepared = { orm: drizzle(client as never), byRoom: new Map() }
      preparedOf.set(client, prepared)
    }
    const known = prepared.byRoom.get(name)
    if (known) return known as Statements<Queries>
    const made = Object.fromEntries(
      Object.entries(build(prepared.orm)).map(([key, query]) => [key, statement(query, `${name}_${key}`)]),
    ) as Statements<Queries>
    prepared.byRoom.set(name, made)
    return made
  }
}

function statement<Q extends Query>(query: Q, name: string): Statement<Q> {
  const prepared = query.prepare(name)
  const execute = async (values: Record<string, unknown> | undefined) => {
    try {
      return await prepared.execute(values)
    } catch (error) {
      // Drizzle's own error quotes every value, and errors are logged.
      throw error instanceof Error && error.cause instanceof Error ? error.cause : error
    }
  }
  return {
    all: async (values) => (await execute(values)) as Row<Q>[],
    get: async (values) => ((await execute(values)) as Row<Q>[])[0],
    run: async (values) => ((await execute(values)) as { rowCount: number | null }).rowCount ?? 0,
  }
}
