import { testShort } from '../short-form.ts'

testShort('slow-reader', 'long-load', 'disconnects', 'detached-turns', 'cancels', 'connections', 'overload')
