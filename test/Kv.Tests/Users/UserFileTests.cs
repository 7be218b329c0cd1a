using Kv.Server;
using Kv.Server.Configuration;
using Kv.Server.Users;
using Kv.Tests.Harness;

namespace Kv.Tests.Users;

/// <summary>Users in files: aclfile with ACL LOAD and SAVE, lines of the configuration, CONFIG REWRITE.</summary>
public sealed class UserFileTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("kv-users-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public void Users_of_the_file_are_there_at_start_and_SAVE_writes_what_LIST_shows()
    {
        string file = Write("users.acl", "user alice on >secret ~a* +@all\n\n  user bob off\n");
        using (var kv = KvInstance.Start("--aclfile", file))
        {
            using var client = kv.Connect();
            Assert.Equal("[\"alice\" \"bob\" \"default\"]", client.Ok("ACL USERS").ToString());
            client.Ok("ACL SETUSER carol on nopass ~\"é\" (+get ~x) +@read");
            client.Ok("ACL SAVE");
            Assert.Equal(client.Ok("ACL LIST").Items!.Select(item => item.String),
                File.ReadAllLines(file, System.Text.Encoding.Latin1));
        }

        using var again = KvInstance.Start("--aclfile", file);
        using var carol = again.Connect();
        carol.Ok("AUTH carol x");
        Assert.True(again.Connect().Command("AUTH alice wrong").IsError);
        again.Connect().Ok("AUTH alice secret");
    }

    [Fact]
    public void LOAD_replaces_all_users_and_closes_clients_of_those_that_are_gone()
    {
        string file = Write("users.acl", "user alice on nopass +@all ~*\nuser bob on nopass +@all ~*\n");
        using var kv = KvInstance.Start("--aclfile", file);
        using RespClient admin = kv.Connect(), alice = kv.Connect(), bob = kv.Connect();
        alice.Ok("AUTH alice x");
        bob.Ok("AUTH bob x");
        Write("users.acl", "user bob on nopass +get ~b\n");
        admin.Ok("ACL LOAD");
        Assert.True(alice.IsClosedByServer());
        Assert.Equal("-NOPERM No permissions to access a key", bob.Command("GET a").ToString());
        Assert.Equal("[\"bob\" \"default\"]", admin.Ok("ACL USERS").ToString());
    }

    [Fact]
    public void Known_G05_of_a_file_with_a_wrong_line_nothing_is_taken_and_the_error_says_what_the_reference_says()
    {
        const string bad = "user a on nopass\nfoo b\nuser b +foo ~x\nuser a on\n\nuser c (+get\nuser d ~a ~*\n"
            + "user e x\nuser f +x y +@z w ~* ~a\nuser f on\nuser g ~* ~a +x\nuser h #zz <p\nuser c on\n"
            + "user i &* &b\nuser j +config|get|x\n";
        string file = Write("users.acl", "user alice on\n");
        using var redis = RedisServer.Start("--aclfile", file);
        using var kv = KvInstance.Start("--aclfile", file);
        Write("users.acl", bad);
        using var theirs = redis.Connect();
        using var ours = kv.Connect();
        string before = ours.Ok("ACL LIST").ToString();
        Assert.Equal(theirs.Command("ACL LOAD").ToString(), ours.Command("ACL LOAD").ToString());
        Assert.Equal(before, ours.Ok("ACL LIST").ToString());
        File.Delete(file);
        Assert.StartsWith("-ERR Error loading ACLs, opening file ", ours.Command("ACL LOAD").ToString(),
            StringComparison.Ordinal);
        Assert.Equal(before, ours.Ok("ACL LIST").ToString());
    }

    // Whoever opens a pipe waits for a writer: the worker would, with all of its clients.
    [Fact]
    public void A_pipe_or_a_device_in_the_place_of_the_file_holds_up_nobody()
    {
        string mkfifo = Requires.Tool("mkfifo");
        string file = Write("users.acl", "user alice on\n");
        using var kv = KvInstance.Start("--aclfile", file);
        using var admin = kv.Connect();
        string before = admin.Ok("ACL LIST").ToString();
        File.Delete(file);
        Assert.Equal(0, ChildProcess.Run(mkfifo, [file]).ExitCode);
        Assert.StartsWith($"-ERR Error loading ACLs, opening file '{file}': it is a pipe",
            admin.Command("ACL LOAD").ToString(), StringComparison.Ordinal);
        Assert.Equal(before, admin.Ok("ACL LIST").ToString());
        File.Delete(file);
        File.CreateSymbolicLink(file, "/dev/zero");
        admin.Ok("ACL LOAD");       // as an empty file, not one without end
        Assert.Equal("[\"default\"]", admin.Ok("ACL USERS").ToString());
    }

    // A line of 100 MB kept a worker for half a minute, and 10 M passwords in one had not been read after two.
    [Fact]
    public void A_file_that_is_none_of_users_is_given_up_early()
    {
        string file = Write("users.acl", "user alice on\n");
        using var kv = KvInstance.Start("--aclfile", file);
        using var admin = kv.Connect();
        string before = admin.Ok("ACL LIST").ToString();
        Write("users.acl", string.Concat(Enumerable.Repeat("foo\n", 1_000_000)));
        string error = Refused();
        Assert.InRange(error.Length, 64 << 10, 65 << 10);
        Assert.Matches("Lines from [0-9]{3,4} on were not read\\. WARNING: ACL errors", error);
        Write("users.acl", "user bob " + string.Concat(Enumerable.Repeat("+nosuch ", 1_000_000)));
        Assert.Contains("users.acl:1: A user has at most 10000 rules and passwords. ", Refused(),
            StringComparison.Ordinal);
        Write("users.acl", "user bob " + string.Concat(Enumerable.Repeat("+nosuch ", 90_000)));
        Assert.InRange(Refused().Length, 64 << 10, 65 << 10);
        Write("users.acl", "user bob " + string.Concat(Enumerable.Range(0, 50_000).Select(i => $">{i} ")));
        Assert.Equal(1, Refused().Split("at most 10000 rules").Length - 1);
        foreach (string line in (string[])[$"user {new string('n', 100_000)}", $"user bob +{new string('n', 100_000)}"])
        {
            Write("users.acl", line);
            Assert.InRange(Refused().Length, 1024, 1400);
        }

        using (var longest = File.OpenWrite(file)) longest.SetLength(UserFile.BytesMax + 1);
        Assert.EndsWith($"it is longer than {UserFile.BytesMax} bytes", Refused(), StringComparison.Ordinal);

        string Refused()
        {
            string reply = admin.Command("ACL LOAD").ToString();
            Assert.StartsWith("-ERR ", reply, StringComparison.Ordinal);
            Assert.Equal(before, admin.Ok("ACL LIST").ToString());
            return reply;
        }
    }

    [Fact]
    public void SAVE_writes_no_file_that_LOAD_would_refuse()
    {
        string file = Write("users.acl", "user alice on\n");
        using var kv = KvInstance.Start("--aclfile", file);
        using var admin = kv.Connect();
        string padding = new('x', 1000);
        byte[][] patterns = [.. Enumerable.Range(0, 1000).Select(i => RespText.Bytes($"~{i}{padding}"))];
        for (int i = 0; i <= UserFile.BytesMax / 1_000_000; i++)
            admin.Command([.. new[] { "ACL", "SETUSER", $"u{i}" }.Select(RespText.Bytes), .. patterns]);
        Assert.StartsWith("-ERR There was an error trying to save the ACLs. Please check the server logs",
            admin.Command("ACL SAVE").ToString(), StringComparison.Ordinal);
        Assert.Equal("user alice on\n", File.ReadAllText(file));
        admin.Ok("ACL DELUSER u0 u1");
        admin.Ok("ACL SAVE");
        admin.Ok("ACL LOAD");
    }

    [Fact]
    public void A_server_whose_users_are_wrong_does_not_start()
    {
        string file = Write("users.acl", "user a +nosuch\n");
        var options = KvInstance.OptionsOf(["--aclfile", file]);
        Assert.Contains("users.acl:1: Error in applying operation '+nosuch': Unknown command",
            Assert.Throws<ArgumentException>(() => Start(options)).Message, StringComparison.Ordinal);
        options = new ServerOptions { Port = 0, Users = ["a +nosuch"] };
        Assert.Contains("user a: Error in ACL SETUSER modifier '+nosuch'",
            Assert.Throws<ArgumentException>(() => Start(options)).Message, StringComparison.Ordinal);
        options = new ServerOptions { Port = 0, Users = ["a on"], AclFile = file };
        Assert.Throws<ArgumentException>(() => Start(options));
        foreach (string rename in new[] { "NOSUCH x", "GET SET" })
            Assert.Throws<ArgumentException>(() => Start(new ServerOptions { Port = 0, RenamedCommands = [rename] }));
    }

    [Theory, InlineData("on #secret"), InlineData("on >good (+get >secret)"), InlineData("on secret"),
        InlineData("(~x >secret"), InlineData("<secret"), InlineData("!secret"), InlineData("(+nosuch secret)")]
    public void The_reason_why_a_server_does_not_start_shows_no_password(string rules)
    {
        string file = Write("users.acl", $"user alice {rules}\n");
        foreach (var options in new[]
            { new ServerOptions { Port = 0, Users = [$"alice {rules}"] }, KvInstance.OptionsOf(["--aclfile", file]) })
        {
            string error = Assert.Throws<ArgumentException>(() => Start(options)).Message;
            Assert.Matches("user alice: |users.acl:1", error);
            Assert.DoesNotContain("secret", error, StringComparison.Ordinal);
        }
    }

    [Fact]
    public void Lines_of_the_configuration_make_users_and_CONFIG_REWRITE_writes_them()
    {
        string file = Write("kv.conf", "port 0\nuser alice on >secret ~a* (+get ~x) +@all -set\nuser bob on nopass\n");
        var parsed = OptionParser.Parse([file]);
        Assert.True(parsed.IsOk, parsed.Error);
        using (var kv = new Running(parsed.Options))
        {
            using var client = kv.Connect();
            client.Ok("ACL SETUSER alice +set");
            client.Command([.. new[] { "ACL", "SETUSER", "carol", "on", "~q\"\u0007" }.Select(RespText.Bytes)]);
            client.Ok("ACL DELUSER bob");
            client.Ok("CONFIG REWRITE");
            Assert.Equal("[]", client.Ok("CONFIG GET user").ToString());
            Assert.True(client.Command("CONFIG SET user \"x on\"").IsError);
        }

        string written = File.ReadAllText(file);
        Assert.DoesNotContain("secret", written, StringComparison.Ordinal);
        Assert.DoesNotContain("bob", written, StringComparison.Ordinal);
        Assert.DoesNotContain("user default", written, StringComparison.Ordinal);
        parsed = OptionParser.Parse([file]);
        using var again = new Running(parsed.Options!);
        using var reader = again.Connect();
        Assert.Equal("[\"alice\" \"carol\" \"default\"]", reader.Ok("ACL USERS").ToString());
        Assert.Contains("~q\"\u0007 ", reader.Ok("ACL LIST").Items![1].String, StringComparison.Ordinal);
        reader.Ok("CONFIG REWRITE");
        Assert.Equal(written, File.ReadAllText(file));
        reader.Ok("AUTH alice secret");
        reader.Ok("SET a 1");
    }

    // Each line made a copy of all before it, and each user a text of all others.
    [Fact]
    public void A_start_with_very_many_users_allocates_what_they_take()
    {
        const int users = 5000;
        string file = Write("kv.conf", "port 0\n" + string.Concat(Enumerable.Range(0, users)
            .Select(i => $"user user:{i} on >p ~cache:{i}:* +@read\n")) + "user user:7 off\n");
        long before = GC.GetAllocatedBytesForCurrentThread();
        using var kv = new Running(OptionParser.Parse([file]).Options!);
        long bytes = GC.GetAllocatedBytesForCurrentThread() - before;
        Assert.True(bytes < users * 60_000L, $"{bytes / users} bytes a user");
        using var client = kv.Connect();
        Assert.Equal(users + 1, client.Ok("ACL USERS").Items!.Count);
        Assert.Equal("[\"off\"]", client.Ok("ACL GETUSER user:7").Items![1].ToString());
    }

    [Fact]
    public void Without_a_file_LOAD_and_SAVE_say_so()
    {
        using var redis = SharedServers.Redis();
        using var kv = KvInstance.Start();
        using var theirs = redis.Server.Connect();
        using var ours = kv.Connect();
        foreach (string line in new[] { "ACL LOAD", "ACL SAVE" })
            Assert.Equal(theirs.Command(line).ToString(), ours.Command(line).ToString());
    }

    [Fact]
    public void Acl_pubsub_default_is_what_a_new_user_has()
    {
        using var kv = KvInstance.Start("--acl-pubsub-default", "allchannels");
        using var client = kv.Connect();
        client.Ok("ACL SETUSER u on +@all");
        Assert.Equal("user u on &* +@all", client.Ok("ACL LIST").Items![1].String);
        client.Ok("CONFIG SET acl-pubsub-default resetchannels");
        client.Ok("ACL SETUSER v on");
        Assert.Equal("user v on resetchannels -@all", client.Ok("ACL LIST").Items![2].String);
    }

    private string Write(string name, string text)
    {
        string path = Path.Combine(_folder, name);
        File.WriteAllText(path, text);
        return path;
    }

    private static void Start(ServerOptions options) =>
        KvServer.StartAsync(options).GetAwaiter().GetResult().DisposeAsync().AsTask().GetAwaiter().GetResult();

    /// <summary>A server with options that no command line can say.</summary>
    private sealed class Running(ServerOptions options) : IDisposable
    {
        private readonly KvServer _server = KvServer.StartAsync(options).GetAwaiter().GetResult();

        public RespClient Connect() => new(_server.Endpoints[0]);

        public void Dispose() => _server.DisposeAsync().AsTask().GetAwaiter().GetResult();
    }
}
