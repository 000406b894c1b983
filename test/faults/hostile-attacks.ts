import type { Attack } from './hostile-attack.ts'
import { floods, largeMessages, leavers, smallBalances, stalledPages, chatsBeyondBalance } from './hostile-chats.ts'
import {
  checks,
  deadNames,
  hugeTools,
  internalNames,
  lastCalls,
  processes,
  stoppedAnswers,
} from './hostile-connectors.ts'
import {
  deadTokens,
  detachedFloods,
  fileQuotes,
  hangingFiles,
  largeFormats,
  largeResults,
  responses,
  slowBodies,
} from './hostile-doors.ts'
import {
  envelopes,
  keyedBodies,
  lists,
  logins,
  longPolls,
  oddTargets,
  rows,
  silentBodies,
  slowSenders,
  stalledReaders,
  unseen,
} from './hostile-requests.ts'

/** All attacks, in the order in which each runs alone. */
export const attacks = {
  'RPC envelopes': envelopes,
  'large messages': largeMessages,
  'stalled pages': stalledPages,
  'last calls that fail': lastCalls,
  'leaving mid-reasoning': leavers,
  'small balances': smallBalances,
  'huge tools and answers': hugeTools,
  'chats beyond the balance': chatsBeyondBalance,
  'checks with secrets': checks,
  'dead name servers': deadNames,
  'rows for nothing': rows,
  'stdio servers': processes,
  'silent bodies': silentBodies,
  'answers that stop': stoppedAnswers,
  'stalled readers': stalledReaders,
  'keyed bodies': keyedBodies,
  'lists in mass': lists,
  'long polls': longPolls,
  'unseen endpoints': unseen,
  'internal names': internalNames,
  'odd targets': oddTargets,
  floods,
  'slow senders': slowSenders,
  logins,
  'large formats': largeFormats,
  'dead tokens': deadTokens,
  'slow bodies': slowBodies,
  'hanging files': hangingFiles,
  'quotes of files': fileQuotes,
  'detached floods': detachedFloods,
  'large results': largeResults,
  responses,
} satisfies Record<string, () => Attack>

export type AttackName = keyof typeof attacks
