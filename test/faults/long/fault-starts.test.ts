import { testShort } from '../short-form.ts'

testShort('stops', 'two-servers', 'migrations')
