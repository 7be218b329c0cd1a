using Kv.Tests.Harness;

namespace Kv.Tests.Tls;

/// <summary>The tools that people have: redis-cli, redis-benchmark, openssl, python3-redis.</summary>
public sealed class TlsToolTests : IDisposable
{
    private readonly TlsServer _server = new();
    private readonly string _cert, _key;

    public TlsToolTests()
    {
        using var own = _server.Files.Authority.Issue("tool", isRsa: true);
        _server.Files.Put("tool", own);
        (_cert, _key) = (_server.Files["tool.crt"], _server.Files["tool.key"]);
    }

    private string Ca => _server.Files["ca.crt"];

    private string Port => $"{_server.EndPoint.Port}";

    public void Dispose() => _server.Dispose();

    [Fact]
    public void Redis_cli_talks_and_says_why_it_cannot()
    {
        string cli = Requires.Tool("redis-cli");
        string[] tls = ["-h", "localhost", "-p", Port, "--tls", "--cacert", Ca];
        Assert.Equal("OK\n", Cli([.. tls, "--cert", _cert, "--key", _key, "SET", "k", "v"]).Output);
        Assert.Equal("v\n", Cli([.. tls, "--cert", _cert, "--key", _key, "GET", "k"]).Output);
        Assert.NotEqual(0, Cli([.. tls, "PING"]).ExitCode);                                     // no certificate
        var distrusting = Cli(["-p", Port, "--tls", "--cert", _cert, "--key", _key, "PING"]);
        Assert.Contains("certificate verify failed", distrusting.Output + distrusting.Errors, StringComparison.Ordinal);
        Assert.Equal("PONG\n",
            Cli(["-p", Port, "--tls", "--insecure", "--cert", _cert, "--key", _key, "PING"]).Output);
        var plain = Cli(["-p", Port, "PING"]);
        Assert.NotEqual("PONG\n", plain.Output);
        byte[] lines = RespText.Bytes(string.Concat(Enumerable.Range(0, 20_000).Select(i => $"SET p:{i} {i}\r\n")));
        string piped = ChildProcess.Run(cli, [.. tls, "--cert", _cert, "--key", _key, "--pipe"], lines).Output;
        Assert.Contains("errors: 0, replies: 20000", piped, StringComparison.Ordinal);

        ChildResult Cli(string[] words) => ChildProcess.Run(cli, words);
    }

    // With a thousand connections it begins all handshakes before it goes on with the first.
    [Theory, InlineData("20", "8", "set,get,lrange_100"), InlineData("1000", "1", "get")]
    public void Redis_benchmark_runs(string clients, string depth, string tests)
    {
        var result = ChildProcess.Run(Requires.Tool("redis-benchmark"),
        [
            "-h", "localhost", "-p", Port, "--tls", "--cacert", Ca, "--cert", _cert, "--key", _key,
            "-n", "20000", "-c", clients, "-P", depth, "-t", tests, "-d", "3000", "-q",
        ], timeoutMs: 120_000);
        Assert.Equal(0, result.ExitCode);
        Assert.Contains("GET: ", result.Output, StringComparison.Ordinal);
        Assert.Equal("0", _server.Info("kv_tls_failed_handshakes"));
    }

    [Theory, InlineData("-tls1_2"), InlineData("-tls1_3")]
    public void Openssl_sees_the_certificate_that_it_can_verify(string version)
    {
        var result = Connect(version, "-CAfile", Ca, "-cert", _cert, "-key", _key);
        Assert.Contains("Verify return code: 0 (ok)", result.Output, StringComparison.Ordinal);
        Assert.Contains("+PONG", result.Output, StringComparison.Ordinal);
    }

    [Theory, InlineData("-tls1"), InlineData("-tls1_1")]
    public void Openssl_gets_nowhere_with_older_versions(string version)
    {
        var result = Connect(version, "-cipher", "DEFAULT@SECLEVEL=0", "-cert", _cert, "-key", _key);
        Assert.NotEqual(0, result.ExitCode);
        Assert.Contains("protocol version", result.Output + result.Errors, StringComparison.Ordinal);
        _server.AwaitInfo("kv_tls_failed_handshakes", "1");
    }

    // Each costs the server as much as a handshake, and the client nothing: once it is in there are no more.
    [Fact]
    public void Known_G09_a_client_cannot_begin_another_handshake_on_its_connection()
    {
        // "R" is s_client's own command for it.
        var result = ChildProcess.Run(Requires.Tool("openssl"),
            ["s_client", "-connect", $"localhost:{Port}", "-tls1_2", "-cert", _cert, "-key", _key],
            "R\nPING\r\n"u8.ToArray());
        Assert.Contains("RENEGOTIATING", result.Errors, StringComparison.Ordinal);
        Assert.DoesNotContain("+PONG", result.Output, StringComparison.Ordinal);
        _server.AwaitInfo("kv_tls_clients", "0");
        Assert.Equal("1", _server.Info("kv_tls_handshakes"));
    }

    [Fact]
    public void Python3_redis_works_with_ssl()
    {
        const string Script = """
            import redis, sys
            port, ca, cert, key = int(sys.argv[1]), *sys.argv[2:]
            r = redis.Redis(host="localhost", port=port, ssl=True, ssl_ca_certs=ca, ssl_certfile=cert, ssl_keyfile=key)
            big = bytes(range(256)) * 65536
            assert r.set("k", big) and r.get("k") == big
            with r.pipeline(transaction=False) as p:
                for i in range(5000): p.set(f"p:{i}", i).get(f"p:{i}")
                replies = p.execute()
            assert replies[1::2] == [str(i).encode() for i in range(5000)]
            s = r.pubsub(); s.subscribe("c"); s.get_message(timeout=10)
            r.publish("c", "hello")
            assert s.get_message(timeout=10)["data"] == b"hello"
            try:
                redis.Redis(host="localhost", port=port, ssl=True, ssl_cert_reqs="none").ping()
                print("no certificate was needed")
            except redis.exceptions.ConnectionError: print("ok")
            """;
        var result = ChildProcess.Run(Requires.PythonWithRedis(), ["-c", Script, Port, Ca, _cert, _key]);
        Assert.True(result.ExitCode == 0, result.Output + result.Errors);
        Assert.Equal("ok\n", result.Output);
    }

    private ChildResult Connect(params string[] words) => ChildProcess.Run(Requires.Tool("openssl"),
        ["s_client", "-connect", $"localhost:{Port}", "-ign_eof", .. words], "PING\r\nQUIT\r\n"u8.ToArray());
}
