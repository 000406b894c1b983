import { testShort } from './short-form.ts'

testShort('slow-reader', 'disconnects', 'connections', 'overload', 'hostile')
