import { defineConfig } from 'drizzle-kit'

const isPostgres = process.env.ENGINE === 'postgres'
const folder = `./server/store/${isPostgres ? 'postgres' : 'sqlite'}`

export default defineConfig({
  dialect: isPostgres ? 'postgresql' : 'sqlite',
  schema: `${folder}/schema.ts`,
  out: `${folder}/migrations`,
})
