using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>A server with a password: what is answered before it was given, and after.</summary>
public class PasswordTests
{
    private const string NotYet = "-NOAUTH Authentication required.";
    private const string Wrong = "-WRONGPASS invalid username-password pair or user is disabled.";

    [Fact]
    public void Nothing_but_the_way_in_is_answered_before_the_password() => Check($"""
        > GET k
        < {NotYet}
        > SUBSCRIBE ch
        < {NotYet}
        > CLIENT ID
        < {NotYet}
        > HELLO
        < -NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time
        > HELLO 3 SETNAME me
        < -NOAUTH <any>
        > AUTH s3cret
        < +OK
        > CLIENT GETNAME
        < nil
        > GET k
        < nil
        """);

    [Fact]
    public void User_default_with_the_password_is_let_in() => Check("""
        > AUTH default s3cret
        < +OK
        > PING
        < +PONG
        """);

    [Fact]
    public void A_failed_HELLO_changes_neither_version_nor_name() => Check($"""
        > HELLO 3 AUTH default nope SETNAME me
        < {Wrong}
        > PING
        < {NotYet}
        > HELLO 2 AUTH default s3cret
        < ["server" "redis" "version" <string> "proto" :2 "id" <int> "mode" "standalone" "role" "master" "modules" []]
        > CLIENT GETNAME
        < nil
        """);

    // P22: whichever command of a pipeline fails, its error is at its place; the third and fourth come late, yet in
    // order.
    [Fact]
    public void Known_P22_failing_AUTH_anywhere_in_a_pipeline_is_answered_in_its_place() => Check($"""
        > AUTH a
        > AUTH b
        > AUTH c
        > GET k
        > AUTH other s3cret
        > AUTH s3cret
        > PING
        < {Wrong}
        < {Wrong}
        < {Wrong}
        < {NotYet}
        < {Wrong}
        < +OK
        < +PONG
        """);

    [Fact]
    public void RESET_asks_for_the_password_again() => Check($"""
        > AUTH s3cret
        < +OK
        > RESET
        < +RESET
        > GET k
        < {NotYet}
        """);

    [Fact]
    public void A_password_set_at_run_time_binds_new_connections_and_not_the_old() => Check("""
        > AUTH s3cret
        < +OK
        > CONFIG GET requirepass
        < ["requirepass" "s3cret"]
        > CONFIG SET requirepass other
        < +OK
        > PING
        < +PONG
        b> AUTH s3cret
        b< -WRONGPASS invalid username-password pair or user is disabled.
        b> AUTH other
        b< +OK
        """);

    [Fact]
    public void A_password_never_shows_in_CLIENT_LIST_or_INFO()
    {
        using var server = KvInstance.Start("--requirepass", "s3cret");
        using var client = server.Connect();
        Assert.Equal("+OK", client.Command("AUTH s3cret").ToString());
        Assert.DoesNotContain("s3cret", client.Ok("CLIENT LIST").String, StringComparison.Ordinal);
        Assert.DoesNotContain("s3cret", client.Ok("INFO everything").String, StringComparison.Ordinal);
    }

    private static void Check(string transcript)
    {
        using var server = KvInstance.Start("--requirepass", "s3cret");
        Transcript.Run(server, transcript, resp: 2);
    }
}
