import { testShort } from '../short-form.ts'

testShort('cluster', 'cancels-postgres', 'detached-turns-postgres')
