// Requests that are malformed, too large, too slow or not allowed: one clear sentence each.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { before, describe, it } from 'node:test'
import { complaint, modelPath, post, serving, trainServed } from './serving.ts'

before(trainServed)

describe('requests that serve refuses', () => {
  const cases: { name: string; body: string; type?: string; status: number; error: RegExp }[] = [
    { name: 'no JSON', body: '{"3":', status: 400, error: /^the body is not JSON: / },
    { name: 'nothing', body: '', status: 400, error: /^the body is not JSON: / },
    { name: 'a number', body: '7', status: 400, error: /^row 1: found 7, expected a row: \{"3": 0\.5\}/ },
    { name: 'null', body: 'null', status: 400, error: /^row 1: found null, expected a row/ },
    { name: 'a row of null', body: '[{"1":1},null]', status: 400, error: /^row 2: found null, expected a row/ },
    {
      name: 'a name',
      body: '{"age":3}',
      status: 400,
      error: /^row 1: found the feature "age", expected a whole number from 1$/,
    },
    { name: 'feature 0', body: '{"0":3}', status: 400, error: /found the feature "0", expected a whole number from 1/ },
    { name: '__proto__', body: '{"__proto__":{"1":1}}', status: 400, error: /found the feature "__proto__"/ },
    {
      name: 'a text as value',
      body: '{"1":"2"}',
      status: 400,
      error: /found the value "2" of feature 1, expected a finite/,
    },
    {
      name: 'null as value',
      body: '[0,null]',
      status: 400,
      error: /found the value null of feature 2, expected a finite/,
    },
    {
      name: 'a value beyond all numbers',
      body: '[0,1e999]',
      status: 400,
      error: /found the value Infinity of feature 2, expected a finite/,
    },
    {
      name: 'lists nested deeper than a message can show',
      body: `[${'['.repeat(30_000)}${']'.repeat(30_000)}]`,
      status: 400,
      error: /^row 1: found .*, expected /,
    },
    {
      name: 'a huge value',
      body: '{"1":1e39}',
      status: 400,
      error: /the value 1e\+39 of feature 1, expected a number that/,
    },
    {
      name: 'a feature twice',
      body: '{"indices":[3,3],"values":[1,2]}',
      status: 400,
      error: /feature 3 after feature 3/,
    },
    {
      name: 'a feature too high',
      body: '{"4294967296":1}',
      status: 400,
      error: /feature 4294967296, expected a whole number/,
    },
    {
      name: 'lengths that differ',
      body: '{"indices":[3],"values":[]}',
      status: 400,
      error: /1 feature numbers and 0 values/,
    },
    {
      name: 'too many rows',
      body: '[[1],[1],[1],[1],[1],[1]]',
      status: 413,
      error: /^the body has 6 rows; expected 5 at most/,
    },
    { name: 'a long body', body: ' '.repeat(70_000), status: 413, error: /^the body is longer than 64\.0 KiB/ },
    {
      name: 'a long line',
      body: '1'.repeat(200_000),
      type: 'application/x-ndjson',
      status: 413,
      error: /^a line is longer/,
    },
    {
      name: 'a bad line of JSON',
      body: '[1]\n{\n',
      type: 'application/x-ndjson',
      status: 400,
      error: /^row 2 is not JSON/,
    },
    {
      name: 'a bad line',
      body: '? 1:1\n# no row\n? 1:x\n',
      type: 'text/plain',
      status: 400,
      error: /^line 3, column 3: found "1:x", expected a number as value$/,
    },
    {
      name: 'another type',
      body: 'a=1',
      type: 'application/xml',
      status: 415,
      error: /^the content type is/,
    },
  ]
  for (const { name, body, type = 'application/json', status, error } of cases) {
    it(`with one sentence: ${name}`, () =>
      serving(
        modelPath,
        async url => {
          const found = await complaint(await post(url, body, { 'content-type': type }))
          assert.equal(found.status, status)
          assert.match(found.error, error)
          // The server goes on, also on the same connection.
          assert.equal((await post(url, { 1: 1 })).status, 200)
        },
        { mostBytes: 1 << 16, mostRows: 5 },
      ))
  }

  it('for other places and methods, and nothing outside of the model can be read', () =>
    serving(modelPath, async url => {
      for (const path of [
        '/',
        '/a.model',
        '/../a.model',
        '/..%2f..%2fetc/passwd',
        '//etc/passwd',
        '/predict/x',
        '/constructor',
      ]) {
        const { status, error } = await complaint(await fetch(url + path))
        assert.equal(status, 404, path)
        assert.equal(error, 'there is no such place; there are /predict, /health, /metrics, /openapi.json')
      }
      const wrong = await fetch(`${url}/predict`)
      assert.equal(wrong.headers.get('allow'), 'POST')
      assert.deepEqual(await complaint(wrong), { status: 405, error: '/predict takes POST requests' })
      assert.equal((await fetch(`${url}/health`, { method: 'DELETE' })).status, 405)
      const packed = await post(url, '{}', { 'content-encoding': 'gzip' })
      assert.match((await complaint(packed)).error, /^the body is gzip; expected one that is not compressed/)
    }))

  /** What the server says to bytes. */
  const raw = (url: string, text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const { port, hostname } = new URL(url)
      const socket = connect(Number(port), hostname)
      let answer = ''
      socket.on('data', piece => {
        answer += piece
      })
      socket.on('error', reject)
      socket.on('close', () => resolve(answer))
      socket.write(text)
    })

  it('that are no HTTP, have long headers, or come for another host', () =>
    serving(modelPath, async url => {
      assert.match(
        await raw(url, 'what is this\r\n\r\n'),
        /^HTTP\/1\.1 400 .*\{"error":"this is not a request of HTTP\/1\.1"\}\n$/s,
      )
      const long = `GET /health HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`
      assert.match(await raw(url, long), /^HTTP\/1\.1 431 .*\{"error":"the headers are longer than 16384 bytes"\}\n$/s)
      for (const host of ['evil.example', 'evil.example:80', 'localhost.evil.example', '127.0.0.1.evil.example']) {
        const answer = await raw(url, `GET /health HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
        assert.match(answer, /^HTTP\/1\.1 403 .*this server answers requests to localhost alone/s, host)
      }
      for (const host of ['localhost:1', '127.0.0.1', '[::1]:80']) {
        const answer = await raw(url, `GET /health HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
        assert.match(answer, /^HTTP\/1\.1 200 /, host)
      }
      const absolute = 'GET http://localhost/health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'
      assert.match(await raw(url, absolute), /^HTTP\/1\.1 400 .*the address of the request is not one/s)
    }))

  it('that are slow: a head, a body and a stream that stand still', () =>
    serving(
      modelPath,
      async url => {
        const started = performance.now()
        const head = 'POST /predict HTTP/1.1\r\nhost: localhost\r\n'
        const [slowHead, slowBody, slowStream] = await Promise.all([
          raw(url, head),
          raw(url, `${head}content-type: application/json\r\ncontent-length: 20\r\n\r\n{"1":`),
          raw(url, `${head}content-type: text/plain\r\ncontent-length: 20\r\n\r\n? 1:`),
        ])
        assert.match(slowHead, /^HTTP\/1\.1 408 .*the head of the request did not come in time/s)
        assert.match(slowBody, /^HTTP\/1\.1 408 .*\{"error":"the body did not come within 0\.5 s"\}\n$/s)
        assert.equal(slowStream, '')
        assert.ok(performance.now() - started < 15_000)
        assert.equal((await post(url, { 1: 1 })).status, 200)
      },
      { seconds: 0.5 },
    ))

  it('that lack the token, where there is one; health needs none', () =>
    serving(
      modelPath,
      async url => {
        for (const headers of [{}, { authorization: 'Bearer wrong-token' }, { authorization: 'Basic sesame-sesame' }]) {
          const { status, error } = await complaint(await post(url, { 1: 1 }, headers as Record<string, string>))
          assert.deepEqual([status, error], [401, 'a token is needed: Authorization: Bearer TOKEN'])
        }
        assert.equal((await post(url, { 1: 1 }, { authorization: 'Bearer sesame-sesame' })).status, 200)
        assert.equal((await fetch(`${url}/metrics`)).status, 401)
        assert.equal((await fetch(`${url}/health`)).status, 200)
      },
      { token: 'sesame-sesame' },
    ))
})
