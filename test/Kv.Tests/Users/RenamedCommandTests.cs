using Kv.Tests.Harness;

namespace Kv.Tests.Users;

/// <summary>rename-command: clients find a command under its new name only, or not at all.</summary>
public sealed class RenamedCommandTests
{
    private static readonly string[] Lines =
    [
        "GET k", "g1 k", "SET k v", "G1 k", "KEYS *", "CONFIG GET port", "CFG", "CFG FOO", "CFG GET", "G1",
        "COMMAND INFO get keys config", "COMMAND GETKEYS g1 k", "COMMAND GETKEYS get k", "MULTI", "G1 k", "EXEC",
        "EVAL \"return redis.call('g1', 'k')\" 0", "EVAL \"return redis.pcall('get', 'k')\" 0",
        "ACL SETUSER u on nopass +get +keys ~*", "ACL SETUSER u +g1", "ACL DRYRUN u g1 k", "ACL DRYRUN u get k",
        "ACL DRYRUN u keys x", "AUTH u x", "G1 k", "CFG GET port",
    ];

    [Fact]
    public void Commands_are_found_by_their_new_names_as_in_the_reference()
    {
        string[] options = ["--rename-command", "get", "G1", "--rename-command", "KEYS", "",
            "--rename-command", "config", "cfg"];
        using var redis = RedisServer.Start(options);
        using var kv = KvProcess.Start(options);
        using var theirs = redis.Connect();
        using var ours = kv.Connect();
        foreach (string line in Lines)
        {
            string expected = theirs.Command(line).ToString(), actual = ours.Command(line).ToString();
            // The words of NOPERM are those of 7.2.
            if (expected.Contains("NOPERM", StringComparison.Ordinal))
                Assert.StartsWith("-NOPERM ", actual, StringComparison.Ordinal);
            else Assert.Equal((line, expected), (line, actual));
        }
    }

    [Fact]
    public void A_renamed_command_waits_and_goes_on_in_later_turns()
    {
        using var kv = KvProcess.Start("--rename-command", "BLPOP", "waitfor", "--rename-command", "SET", "put");
        using var client = kv.Connect();
        using var other = kv.Connect();
        client.Send("WAITFOR list 0");
        Eventually.Holds(() => other.Info("blocked_clients") == "1", () => "nobody waits");
        other.Ok("CLIENT PAUSE 50 WRITE");
        other.Ok("PUT a 1");
        other.Ok("RPUSH list v");
        Assert.Equal("[\"list\" \"v\"]", client.Read().ToString());
        Assert.DoesNotContain("set", other.Ok("COMMAND LIST FILTERBY PATTERN set").Items!.Select(item => item.String)
            .Except(["set"]));
    }

    [Theory]
    [InlineData("GET", "", "GET", "")]
    [InlineData("GET", "a", "get", "a")]
    [InlineData("GET", "a", "GET", "")]
    public void Of_a_command_that_is_renamed_already_there_is_none_as_in_the_reference(string old, string name,
        string again, string otherName)
    {
        var run = ChildProcess.Run(KvProcess.Program,
            ["--port", "0", "--save", "", "--rename-command", old, name, "--rename-command", again, otherName]);
        Assert.Equal(1, run.ExitCode);
        Assert.Contains("No such command in rename-command", run.Errors, StringComparison.Ordinal);
    }
}
