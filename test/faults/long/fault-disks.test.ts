import { testShort } from '../short-form.ts'

testShort('disk-full', 'io-errors', 'damaged-files', 'backups')
