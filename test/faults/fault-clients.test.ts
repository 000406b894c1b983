import { testShort } from './short-form.ts'

testShort('slow-reader', 'long-load', 'disconnects', 'cancels', 'connections', 'overload')
