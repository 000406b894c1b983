import { testShort } from '../short-form.ts'

testShort(
  'slow-reader',
  'long-load',
  'disconnects',
  'detached-turns',
  'mail-kills',
  'cancels',
  'connections',
  'overload',
)
