import { testShort } from '../short-form.ts'

testShort(
  'cluster',
  'postgres-kills',
  'postgres-crashes',
  'cancels-postgres',
  'detached-turns-postgres',
  'mail-kills-postgres',
  'migrations-postgres',
)
