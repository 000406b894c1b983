import { Box, Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { CreatedPlatformKey } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { CodeBlock } from '../../../parts/code/code-block.tsx'
import { useLeaveWarning } from '../../../parts/hooks/use-leave-warning.ts'
import { SecretBox } from '../../../parts/secret-box.tsx'
import { PlatformKeyForm, type PlatformKeyInput } from './platform-key-form.tsx'
import { serviceUrl } from '../../../app/service-url.ts'

export function PlatformKeyDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const create = useMutation({
    mutationFn: (input: PlatformKeyInput) => client.platformKeys.create(input),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['platform-keys'] }),
  })
  const { data: created } = create
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      onExitTransitionEnd={create.reset}
      closeOnClickOutside={!created}
      closeOnEscape={!created}
      withCloseButton={!created}
      title={created ? 'Store the platform key' : 'Create platform key'}
      size="lg"
    >
      {created ? (
        <IssuedPlatformKey created={created} onDone={onClose} />
      ) : (
        <PlatformKeyForm
          error={create.error}
          isPending={create.isPending}
          onCancel={onClose}
          onSubmit={(input) => {
            create.reset()
            create.mutate(input)
          }}
        />
      )}
    </Modal>
  )
}

function IssuedPlatformKey({ created, onDone }: { created: CreatedPlatformKey; onDone: () => void }) {
  useLeaveWarning(true)
  return (
    <Stack gap="md">
      <Text>
        Copy this key now and store it on your product's server. You will not see it again. Never use it in a browser.
      </Text>
      <SecretBox value={created.key} label="Platform key" what="platform key" />
      <Box>
        <Text mb={6}>Environment variables for your server:</Text>
        <CodeBlock
          code={`ERRAND_URL='${serviceUrl}'\nERRAND_PLATFORM_KEY='${created.key}'`}
          label="Environment variables"
          what="environment variables"
        />
      </Box>
      <Group justify="flex-end">
        <Button onClick={onDone}>I have stored the key</Button>
      </Group>
    </Stack>
  )
}
