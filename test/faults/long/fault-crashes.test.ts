import { testShort } from '../short-form.ts'

testShort('kill-at-random', 'kill-at-sync', 'kill-at-statement', 'power-loss')
