import { requestPasswordLink } from '../access/people-commands.ts'
import { requestSignUp } from '../access/sign-up-commands.ts'
import type { Engine } from '../commands/command.ts'
import {
  endMail,
  hasDueMail,
  leaseMails,
  listNewestMails,
  noteExpiringKeys,
  readMailState,
  resealMail,
  sealedMails,
} from './mail-commands.ts'
import type { MailStore } from './mail-port.ts'

export function mailStore(engine: Engine): MailStore {
  return {
    lease: async (input) => {
      // Most polls find nothing, and a read is cheaper than a transaction.
      const isDue = await engine.read(hasDueMail)
      return isDue ? await engine.run((tx) => leaseMails(tx, input)) : []
    },
    end: (input) => engine.run((tx) => endMail(tx, input)),
    readState: () => engine.read(readMailState),
    listNewest: (limit) => engine.read((on) => listNewestMails(on, limit)),
    noteExpiringKeys: () => engine.run(noteExpiringKeys),
    requestPasswordLink: (input) => engine.run((tx) => requestPasswordLink(tx, input)),
    requestSignUp: (input) => engine.run((tx) => requestSignUp(tx, input)),
    sealed: (input) => engine.read((on) => sealedMails(on, input)),
    reseal: (input) => engine.run((tx) => resealMail(tx, input)),
  }
}
