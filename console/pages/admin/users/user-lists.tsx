import { Tabs } from '@mantine/core'
import { PageLink } from '../../../parts/page-link.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { useSearchField } from '../../../parts/hooks/use-search-field.ts'
import { UserHistory } from './user-history.tsx'
import { UserKeys } from './user-keys.tsx'
import { UserLogins } from './user-logins.tsx'
import { UserRuns } from './user-runs.tsx'
import { UserSessions } from './user-sessions.tsx'
import { UserTransactions } from './user-transactions.tsx'

const lists = {
  transactions: 'Transactions',
  tasks: 'Tasks',
  chats: 'Chats',
  keys: 'API keys',
  logins: 'Logins',
  history: 'History',
}
const first = 'transactions'

/** A user's transactions, tasks, chats, API keys, logins and history, one list at a time. The URL selects the list. */
export function UserLists({ userId }: { userId: string }) {
  const [named, setNamed] = useSearchField('list')
  const list = Object.hasOwn(lists, named) ? named : first
  return (
    <Panel
      title="Activity"
      actions={<PageLink href={`/admin/audit?${new URLSearchParams({ userId })}`}>Audit log</PageLink>}
    >
      <Tabs
        value={list}
        onChange={(next) => setNamed(next === null || next === first ? '' : next)}
        keepMounted={false}
        activateTabWithKeyboard={false}
      >
        <Tabs.List mb="sm" aria-label="Activity of this user">
          {Object.entries(lists).map(([value, label]) => (
            <Tabs.Tab key={value} value={value}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="transactions">
          <UserTransactions userId={userId} />
        </Tabs.Panel>
        <Tabs.Panel value="tasks">
          <UserRuns userId={userId} />
        </Tabs.Panel>
        <Tabs.Panel value="chats">
          <UserSessions userId={userId} />
        </Tabs.Panel>
        <Tabs.Panel value="keys">
          <UserKeys userId={userId} />
        </Tabs.Panel>
        <Tabs.Panel value="logins">
          <UserLogins userId={userId} />
        </Tabs.Panel>
        <Tabs.Panel value="history">
          <UserHistory userId={userId} />
        </Tabs.Panel>
      </Tabs>
    </Panel>
  )
}
