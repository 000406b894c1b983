import { testShort } from '../short-form.ts'

testShort('rogue-agents', 'mcp-servers', 'clock-jumps')
