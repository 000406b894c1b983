import { testShort } from '../short-form.ts'

testShort('postgres-kills', 'postgres-crashes', 'mail-kills-postgres', 'migrations-postgres')
