import { randomUUID } from 'node:crypto'
import type { OutgoingMail } from './outgoing-mail.ts'

export function testMail(name: string, to: string): OutgoingMail {
  const content = `This is a test email from ${name}. If you can read it, email delivery works.`
  const html = `<p>${content.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</p>`
  return { id: randomUUID(), to, subject: 'Test email', text: `${content}\n`, html }
}
