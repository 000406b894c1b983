import { Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Mail } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { KeyValueList } from '../../../parts/key-value-list.tsx'
import { PageHeader } from '../../../parts/page-header.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { StatusBadge } from '../../../parts/status-badge.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { AdminsOnlyPage, isForAdminsOnly } from '../admins-only-page.tsx'
import { MailPreview } from './mail-preview.tsx'
import { kindNames } from './mail-words.ts'
import { TestMailForm } from './test-mail-form.tsx'

const renewMs = 5000

export function MailPage() {
  const mail = useQuery({
    queryKey: ['mail'],
    queryFn: ({ signal }) => client.mail.get({ signal }),
    refetchInterval: renewMs,
  })
  if (isForAdminsOnly(mail.error)) return <AdminsOnlyPage />
  return (
    <>
      <PageHeader title="Mail" description="The mail server, recent emails, and an example of each kind of email." />
      <QueryState query={mail} skeleton={<Skeleton height={640} />}>
        {({ newest, previews, server }) => (
          <Stack gap="lg">
            <Panel title="Mail server">
              {server === null ? (
                <Text>No mail server is configured. Set ERRAND_SMTP_URL and ERRAND_MAIL_FROM to send email.</Text>
              ) : (
                <Stack gap="md">
                  <KeyValueList
                    rows={[
                      ['Server', `${server.host}:${server.port}`],
                      ['Encryption', encryptions[server.tls]],
                      ['Sender', server.from],
                    ]}
                  />
                  <TestMailForm />
                </Stack>
              )}
            </Panel>
            <Panel title="Recent emails">
              {newest.length === 0 ? (
                <Text c="dimmed">No emails in the last four days.</Text>
              ) : (
                <DataTable caption="Recent emails" columns={columns} rows={newest} rowKey={({ id }) => id} isWide />
              )}
            </Panel>
            <Panel title="Preview">
              <MailPreview previews={previews} />
            </Panel>
          </Stack>
        )}
      </QueryState>
    </>
  )
}

const encryptions: Record<NonNullable<Mail['server']>['tls'], string> = {
  implicit: 'TLS',
  starttls: 'STARTTLS',
  optional: 'STARTTLS, if the server offers it',
}
const statuses = { pending: 'pending', sent: 'completed', failed: 'failed' } as const

const columns: Column<Mail['newest'][number]>[] = [
  { id: 'kind', label: 'Type', cell: ({ kind }) => kindNames[kind] },
  {
    id: 'to',
    label: 'Recipient',
    cell: ({ email, userId }) =>
      userId === null ? email : <PageLink href={`/admin/users/${userId}`}>{email}</PageLink>,
  },
  {
    id: 'status',
    label: 'Status',
    cell: ({ status }) => <StatusBadge status={statuses[status]} {...(status === 'sent' && { label: 'Sent' })} />,
  },
  { id: 'created', label: 'Created', cell: ({ createdAt }) => <TimeText at={createdAt} /> },
  { id: 'attempts', label: 'Attempts', align: 'right', cell: ({ attempts }) => String(attempts) },
  { id: 'error', label: 'Error', cell: ({ error }) => error ?? '–' },
]
