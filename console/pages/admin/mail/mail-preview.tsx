import { Select, Stack } from '@mantine/core'
import type { Mail } from '../../../../client/client.ts'
import { basePath } from '../../../app/service-url.ts'
import { KeyValueList } from '../../../parts/key-value-list.tsx'
import { useSearchField } from '../../../parts/hooks/use-search-field.ts'
import { kindNames } from './mail-words.ts'
import classes from './mail-preview.module.css'

export function MailPreview({ previews }: { previews: Mail['previews'] }) {
  const [asked, setKind] = useSearchField('kind')
  const { kind, subject } = previews.find((one) => one.kind === asked) ?? previews[0]!
  return (
    <Stack gap="md">
      <Select
        label="Type of email"
        data={previews.map(({ kind: value }) => ({ value, label: kindNames[value] }))}
        value={kind}
        onChange={(next) => setKind(next ?? '')}
        allowDeselect={false}
        maw={320}
      />
      <KeyValueList rows={[['Subject', subject]]} />
      {/* The service sends this page with its own content security policy. */}
      <iframe
        key={kind}
        className={classes.frame}
        title={`Example: ${subject}`}
        src={`${basePath}/admin/mail/preview/${kind}`}
        sandbox=""
      />
    </Stack>
  )
}
