import { defineConfig } from 'drizzle-kit'

export default defineConfig({
  dialect: 'postgresql',
  schema: './server/store/postgres/schema.ts',
  out: './server/store/postgres/migrations',
})
