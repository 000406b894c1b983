import { ActionIcon, Menu, Text, useMantineColorScheme } from '@mantine/core'
import {
  DesktopIcon,
  EnvelopeClosedIcon,
  ExitIcon,
  FileTextIcon,
  MoonIcon,
  PersonIcon,
  SunIcon,
} from '@radix-ui/react-icons'
import { useMutation } from '@tanstack/react-query'
import type { ComponentProps } from 'react'
import { notifyError } from '../parts/notify.tsx'
import { supportUrl } from './read-brand.ts'
import { basePath } from './service-url.ts'
import { client } from './api-client.ts'
import { endWork, leaveConsole } from './leave-console.ts'
import { useAccount } from './use-account.ts'

const schemes = [
  { scheme: 'auto', label: 'System', Icon: DesktopIcon },
  { scheme: 'light', label: 'Light', Icon: SunIcon },
  { scheme: 'dark', label: 'Dark', Icon: MoonIcon },
] as const

export function AccountMenu() {
  const { data: account } = useAccount()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const logOut = useMutation({
    mutationFn: async () => {
      await endWork()
      await client.login.end()
    },
    onSuccess: () => leaveConsole(),
    onError: (error) => notifyError('Could not log out', error),
  })
  return (
    // Render inside the header landmark, because a portal would move the menu out of it. Omit the focus placeholder,
    // because a menu may contain only menu items.
    <Menu position="bottom-end" width={240} withinPortal={false} withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <ActionIcon variant="default" size={30} aria-label="Account">
          <PersonIcon aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          Logged in as
          <Text component="span" display="block" size="sm" fw={600} c="var(--mantine-color-text)" truncate>
            {account?.email ?? '…'}
          </Text>
        </Menu.Label>
        <Menu.Divider />
        <Menu.Label aria-hidden>Theme</Menu.Label>
        <div role="group" aria-label="Theme">
          {schemes.map(({ scheme, label, Icon }) => (
            <Menu.Item
              key={scheme}
              component={MenuRadio}
              aria-checked={colorScheme === scheme}
              leftSection={<Icon aria-hidden />}
              rightSection={colorScheme === scheme ? <span aria-hidden>✓</span> : null}
              closeMenuOnClick={false}
              onClick={() => setColorScheme(scheme)}
            >
              {label}
            </Menu.Item>
          ))}
        </div>
        <Menu.Divider />
        <Menu.Item component="a" href={`${basePath}/docs`} leftSection={<FileTextIcon aria-hidden />}>
          API reference
        </Menu.Item>
        {supportUrl !== undefined && (
          <Menu.Item component="a" href={supportUrl} leftSection={<EnvelopeClosedIcon aria-hidden />}>
            Contact support
          </Menu.Item>
        )}
        <Menu.Item leftSection={<ExitIcon aria-hidden />} disabled={logOut.isPending} onClick={() => logOut.mutate()}>
          Log out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

/** A menu item with the role of a radio button, which Mantine does not provide. */
function MenuRadio(props: ComponentProps<'button'>) {
  return <button type="button" {...props} role="menuitemradio" />
}
