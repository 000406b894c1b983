import { defineConfig } from 'drizzle-kit'

export default defineConfig({
  dialect: 'sqlite',
  schema: './server/store/sqlite/schema.ts',
  out: './server/store/sqlite/migrations',
})
