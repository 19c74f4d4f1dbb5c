// Who the studio answers, and what names and bodies it refuses.
import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { openPage } from '../../src/studio/open-page.ts'
import { StudioServer } from '../../src/studio/server.ts'
import { program } from '../cli/run.ts'
import { inStudio, messageOf, newFolder, raw, type Studio, smallData } from './studio.ts'

const outside = mkdtempSync(join(tmpdir(), 'spillway-outside-'))
after(() => rmSync(outside, { recursive: true, force: true }))

describe('the studio answers', () => {
  it('those who have the token, in the header or in the address', () =>
    inStudio(async ({ url, token }) => {
      const ask = async (path: string, authorization?: string): Promise<number> =>
        (await raw(url, { path, headers: authorization === undefined ? {} : { authorization } })).status
      assert.equal(await ask('/api/choices', `Bearer ${token}`), 200)
      assert.equal(await ask(`/api/choices?token=${token}`), 200)
      assert.equal(await ask('/api/choices'), 401)
      assert.equal(await ask('/api/choices?token='), 401)
      assert.equal(await ask(`/api/choices?token=${token.slice(1)}`), 401)
      assert.equal(await ask('/api/choices', `Bearer ${token}x`), 401)
      // What is given in the header counts.
      assert.equal(await ask(`/api/choices?token=${token}`, 'Bearer wrong'), 401)
      assert.equal(await ask('/api/runs/none/events'), 401)
      const wrong = await raw(url, { path: '/api/folder?token=wrong' })
      assert.match(messageOf(wrong), /^the token is missing or wrong: open the address that spillway studio printed$/)
      assert.ok(token.length >= 32)
    }))

  it('requests to this machine alone, under its own names and port', () =>
    inStudio(async ({ url, token }) => {
      const { port } = new URL(url)
      const ask = (host: string) =>
        raw(url, { path: '/api/choices', headers: { host, authorization: `Bearer ${token}` } })
      for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`]) {
        assert.equal((await ask(host)).status, 200, host)
      }
      for (const host of [`evil.example:${port}`, 'evil.example', `127.0.0.1.evil.example:${port}`, 'localhost:1']) {
        assert.equal((await ask(host)).status, 403, host)
      }
      // The page itself is not shown under another name either.
      assert.equal((await raw(url, { path: '/', headers: { host: `evil.example:${port}` } })).status, 403)
    }))

  it('its own page alone', () =>
    inStudio(async ({ url, token }) => {
      const { port } = new URL(url)
      const ask = (headers: Record<string, string>) =>
        raw(url, { path: '/api/choices', headers: { authorization: `Bearer ${token}`, ...headers } })
      const host = `127.0.0.1:${port}`
      assert.equal((await ask({ origin: `http://${host}` })).status, 200)
      assert.equal((await ask({ origin: `http://localhost:${port}`, host: `localhost:${port}` })).status, 200)
      for (const origin of [
        'http://evil.example',
        'null',
        `https://${host}`,
        'http://127.0.0.1:1',
        `http://localhost:${port}`,
      ]) {
        const answer = await ask({ origin, host })
        assert.equal(answer.status, 403, origin)
        assert.equal(messageOf(answer), 'only the page of the studio itself may ask')
      }
      assert.equal((await ask({ 'sec-fetch-site': 'same-origin' })).status, 200)
      assert.equal((await ask({ 'sec-fetch-site': 'cross-site' })).status, 403)
      assert.equal((await ask({ 'sec-fetch-site': 'same-site' })).status, 403)
    }))

  it('with headers that keep the page to itself', () =>
    inStudio(async ({ url, token }) => {
      for (const path of [`/api/choices?token=${token}`, '/api/choices', '/nothing']) {
        const { headers } = await raw(url, { path })
        const policy = String(headers['content-security-policy'])
        for (const part of [
          "default-src 'none'",
          "script-src 'self'",
          "connect-src 'self'",
          "frame-ancestors 'none'",
        ]) {
          assert.ok(policy.includes(part), policy)
        }
        assert.doesNotMatch(policy, /unsafe/)
        assert.equal(headers['x-content-type-options'], 'nosniff')
        assert.equal(headers['referrer-policy'], 'no-referrer')
        assert.equal(headers['cache-control'], 'no-store')
        assert.equal(headers['access-control-allow-origin'], undefined)
      }
    }))

  it('at no other address', () =>
    inStudio(async studio => {
      assert.equal(new URL(studio.url).hostname, '127.0.0.1')
      assert.deepEqual(await studio.refused('GET', '/api/nothing'), {
        status: 404,
        message: 'there is nothing at this address',
      })
      assert.equal((await studio.refused('PUT', '/api/runs')).status, 405)
      assert.equal((await studio.refused('GET', '/api/runs/none')).status, 404)
      assert.equal((await studio.refused('GET', '/api/runs/..%2f..%2fetc/records')).status, 404)
    }))
})

describe('names of files', () => {
  const secret = join(outside, 'secret.svm')
  writeFileSync(secret, smallData)

  /** Asks all that takes a name for one. */
  async function statuses(studio: Studio, name: unknown): Promise<{ status: number; message: string }[]> {
    const asked = [
      ['POST', '/api/plan', { data: name }],
      ['POST', '/api/runs', { data: name }],
      ['POST', '/api/runs', { data: 'a.svm', options: { test: name } }],
    ] as [string, string, unknown][]
    if (typeof name === 'string') asked.push(['GET', `/api/summary?file=${encodeURIComponent(name)}`, undefined])
    return Promise.all(asked.map(each => studio.refused(...each)))
  }

  it('lead to no place outside of the folder', () =>
    inStudio(async studio => {
      const { folder } = studio
      studio.write('a.svm', smallData)
      mkdirSync(join(folder, 'inside'))
      symlinkSync(secret, join(folder, 'link.svm'))
      symlinkSync(outside, join(folder, 'linked'))
      symlinkSync(join(folder, 'linked'), join(folder, 'twice'))
      symlinkSync('../../../../../../../../../../../../../etc/passwd', join(folder, 'inside', 'passwd'))
      symlinkSync('loop', join(folder, 'loop'))
      const names = [
        ...['..', '../', `../${outside.split('/').pop()}/secret.svm`, 'inside/../../x', './a.svm', 'inside/./passwd'],
        ...['/etc/passwd', secret, '//etc/passwd', 'C:\\x', 'c:/x', '..\\x', 'inside\\..\\a.svm', '\\\\host\\share'],
        ...[
          'a.svm\0',
          '\0',
          'a.svm\0.txt',
          'link.svm',
          'linked/secret.svm',
          'twice/secret.svm',
          'linked',
          'inside/passwd',
        ],
        ...[
          '.spillway',
          '.spillway/runs',
          '.spillway/studio.lock',
          '.SPILLWAY/runs',
          'inside//passwd',
          'loop',
          'none.svm',
        ],
        'x'.repeat(5000),
      ]
      for (const name of names) {
        for (const { status, message } of await statuses(studio, name)) {
          assert.ok([400, 403, 404].includes(status), `${JSON.stringify(name.slice(0, 60))}: ${status} ${message}`)
        }
      }
      for (const name of [7, {}, ['a.svm'], true]) {
        for (const { status } of await statuses(studio, name)) assert.equal(status, 400, String(name))
      }
      assert.deepEqual(await studio.get('/api/runs'), { runs: [] })
      const { files } = await studio.get<{ files: { name: string }[] }>('/api/folder')
      assert.deepEqual(
        files.map(({ name }) => name),
        ['a.svm'],
      )
    }))

  it('may be links that stay inside', () =>
    inStudio(async studio => {
      studio.write('a.svm', smallData)
      symlinkSync('a.svm', join(studio.folder, 'same.svm'))
      const { rows } = await studio.get('/api/summary?file=same.svm')
      assert.equal(rows, 300)
    }))

  it('of what the studio itself writes follow no link', async () => {
    for (const links of [['.spillway'], ['.spillway', 'runs']]) {
      const folder = newFolder()
      try {
        mkdirSync(join(folder, ...links.slice(0, -1)), { recursive: true })
        symlinkSync(outside, join(folder, ...links))
        const before = readdirSync(outside)
        await assert.rejects(
          StudioServer.start(folder, { port: 0, program: [process.execPath, program] }),
          /is not a folder of its own$/,
        )
        assert.deepEqual(readdirSync(outside), before)
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }
    // A run that came with the folder, and is a link.
    const folder = newFolder()
    mkdirSync(join(folder, '.spillway', 'runs'), { recursive: true })
    mkdirSync(join(outside, 'run'), { recursive: true })
    writeFileSync(join(outside, 'run', 'run.json'), '{}')
    symlinkSync(join(outside, 'run'), join(folder, '.spillway', 'runs', 'abcdef'))
    mkdirSync(join(folder, '.spillway', 'runs', 'linked'))
    symlinkSync(join(outside, 'run', 'run.json'), join(folder, '.spillway', 'runs', 'linked', 'run.json'))
    await inStudio(async studio => assert.deepEqual(await studio.get('/api/runs'), { runs: [] }), {}, folder)
    assert.ok(existsSync(join(outside, 'run', 'run.json')))
  })
})

describe('bodies', () => {
  it('that are no JSON, too long, or of the wrong shape are refused', () =>
    inStudio(async studio => {
      studio.write('a.svm', smallData)
      const cases: [body: unknown, status: number, message: RegExp][] = [
        ['{"data":', 400, /^the body is not JSON: /],
        ['', 400, /^the body is not JSON: /],
        ['[]', 400, /^the body is no object of JSON$/],
        ['null', 400, /^the body is no object of JSON$/],
        [`{"data":"${'x'.repeat(1 << 20)}"}`, 413, /^the body is longer than 1\.00 MiB/],
        [`${'['.repeat(100_000)}`, 400, /^the body is not JSON/],
        ['{"__proto__":{"data":"a.svm"}}', 400, /^a name of a file is missing$/],
        [{ data: 'a.svm', options: [] }, 400, /^options is no object/],
        [{ data: 'a.svm', options: { store: '/tmp/x' } }, 400, /^there is no option "store"$/],
        [{ data: 'a.svm', options: { constructor: 'x' } }, 400, /^there is no option "constructor"$/],
        ['{"data":"a.svm","options":{"__proto__":"x"}}', 400, /^there is no option "__proto__"$/],
        [{ data: 'a.svm', options: { cost: '1' } }, 400, /^the option cost is not a number$/],
        ['{"data":"a.svm","options":{"cost":1e999}}', 400, /^the option cost is not a number$/],
        [{ data: 'a.svm', options: { cost: -1 } }, 400, /^cost is -1; expected a number above 0$/],
        [{ data: 'a.svm', options: { scale: '--resume' } }, 400, /^scale is "--resume"; expected one of /],
        [{ data: 'a.svm', options: { loss: { toString: 1 } } }, 400, /^the option loss is not a short text$/],
        [{ data: 'a.svm', options: { label: 'a\0b' } }, 400, /^the option label is not a short text$/],
        [{ data: 'a.svm', name: 'x'.repeat(300) }, 400, /^the name of a run is a text of 200 characters at most$/],
      ]
      for (const [body, status, message] of cases) {
        const answer = await studio.refused('POST', '/api/runs', body)
        assert.match(answer.message, message)
        assert.equal(answer.status, status, answer.message)
      }
      assert.deepEqual(await studio.get('/api/runs'), { runs: [] })
    }))

  it('of another type are refused, so that no form can send one', () =>
    inStudio(async ({ url, token }) => {
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', '']) {
        const headers = { authorization: `Bearer ${token}`, 'content-type': type }
        const answer = await raw(url, { method: 'POST', path: '/api/runs', headers, body: '{"data":"a.svm"}' })
        assert.equal(answer.status, 415)
      }
    }))

  it('that are no HTTP at all, or have endless headers, end in one sentence', () =>
    inStudio(async ({ url }) => {
      const { port } = new URL(url)
      const send = (text: string): Promise<string> =>
        new Promise((resolve, reject) => {
          const socket = connect(Number(port), '127.0.0.1', () => socket.write(text))
          let answer = ''
          socket.on('data', piece => {
            answer += piece
          })
          socket.on('close', () => resolve(answer)).on('error', reject)
        })
      assert.match(await send('hello\r\n\r\n'), /^HTTP\/1\.1 400 /)
      assert.match(
        await send(`GET / HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`),
        /^HTTP\/1\.1 431 /,
      )
    }))

  it('streams of events are so many at most', () =>
    inStudio(async ({ url, token }) => {
      const leaving = new AbortController()
      const open = () =>
        fetch(`${url}/api/events`, { headers: { authorization: `Bearer ${token}` }, signal: leaving.signal })
      const answers = await Promise.all(Array.from({ length: 33 }, open))
      const statuses = answers.map(({ status }) => status).sort()
      assert.deepEqual([statuses[0], statuses[31], statuses[32]], [200, 200, 503])
      leaving.abort()
    }))
})

describe('the page', () => {
  it('is opened by a file that only its owner may read, for commands can be seen by others', async () => {
    const folder = newFolder()
    mkdirSync(join(folder, '.spillway'))
    const path = process.env['PATH']
    // No browser is to be found.
    process.env['PATH'] = folder
    try {
      const close = await openPage(folder, 'http://127.0.0.1:1/?token=abc')
      const file = join(folder, '.spillway', 'open.html')
      assert.match(readFileSync(file, 'utf8'), /content="0;url=http:\/\/127\.0\.0\.1:1\/\?token=abc"/)
      assert.equal(statSync(file).mode % 0o100, 0)
      await close()
      assert.deepEqual(readdirSync(join(folder, '.spillway')), [])
    } finally {
      process.env['PATH'] = path
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
