import { expect, test } from 'vitest'
import { fieldsOf } from '../../scripts/repository-fields.ts'

const url = 'https://git.example.com/team/errand'

test.each([
  'https://git.example.com/team/errand',
  'https://git.example.com/team/errand.git',
  'https://user:token@git.example.com/team/errand.git/',
  'git@git.example.com:team/errand.git',
  'ssh://git@git.example.com/team/errand.git',
  'ssh://git@git.example.com:22/team/errand',
])('the package names the repository of the remote %s', (remote) => {
  expect(fieldsOf(remote, 'client')).toEqual({
    repository: { type: 'git', url: `git+${url}.git`, directory: 'client' },
    homepage: `${url}#readme`,
    bugs: `${url}/issues`,
  })
})

test.each(['', '/srv/git/errand', '../errand', 'file:///srv/git/errand.git', 'https://git.example.com/'])(
  'the package names no repository if the remote is "%s"',
  (remote) => {
    expect(fieldsOf(remote)).toEqual({})
  },
)
