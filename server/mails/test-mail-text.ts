import { randomUUID } from 'node:crypto'
import type { OutgoingMail } from './outgoing-mail.ts'

export function testMail(name: string, to: string): OutgoingMail {
  const content = `This is a test mail from ${name}. If you can read it, mail delivery works.`
  const html = `<p>${content.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</p>`
  return { id: randomUUID(), to, subject: 'Test mail', text: `${content}\n`, html }
}
