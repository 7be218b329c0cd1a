using Kv.Tests.Harness;

namespace Kv.Tests.Tls;

/// <summary>tls-auth-clients-user: a certificate says which user its client is.</summary>
public sealed class ClientUserTests
{
    [Fact]
    public void The_common_name_of_a_certificate_is_the_user_if_there_is_such_a_user()
    {
        using var server = new TlsServer("--tls-auth-clients-user", "CN", "--requirepass", "secret");
        using var admin = server.Kv.Connect();
        admin.Say("""
            AUTH secret
            ACL SETUSER alice on >pw ~a:* +@all
            ACL SETUSER bob off >pw ~* +@all
            ACL SETUSER "jürgen" on >pw ~* +@all
            """);
        using RespClient alice = Connect("alice"), juergen = Connect("jürgen");
        Assert.Equal("\"alice\"", alice.Command("ACL WHOAMI").ToString());
        Assert.Equal("+OK", alice.Command("SET a:1 v").ToString());
        Assert.Equal("-NOPERM No permissions to access a key", alice.Command("SET b:1 v").ToString());
        Assert.Contains(" user=alice ", alice.Ok("CLIENT INFO").String, StringComparison.Ordinal);
        Assert.Equal("jürgen"u8.ToArray(), juergen.Ok("ACL WHOAMI").Text);
        // Nobody of that name, or nobody who may log in: the default user, who has a password.
        foreach (string name in (string[])["bob", "carol"])
        {
            using var unknown = Connect(name);
            Assert.Equal("-NOAUTH Authentication required.", unknown.Command("PING").ToString());
            unknown.Ok("AUTH alice pw");
            Assert.Equal("\"alice\"", unknown.Command("ACL WHOAMI").ToString());
        }

        Assert.Equal("+OK", alice.Command("AUTH secret").ToString());
        Assert.Equal("\"default\"", alice.Command("ACL WHOAMI").ToString());
        using var again = Connect("alice");
        admin.Ok("ACL DELUSER alice");
        Assert.True(again.IsClosedByServer());

        RespClient Connect(string name)
        {
            using var certificate = server.Files.Authority.Issue(name);
            var client = server.Connect(certificate);
            return client;
        }
    }

    [Fact]
    public void Who_shows_no_certificate_or_where_it_is_off_is_the_default_user()
    {
        using var server = new TlsServer("--tls-auth-clients-user", "CN", "--tls-auth-clients", "optional");
        using var admin = server.Kv.Connect();
        admin.Ok("ACL SETUSER alice on nopass ~* +@all");
        using var unknown = server.ConnectUnknown();
        Assert.Equal("\"default\"", unknown.Command("ACL WHOAMI").ToString());
        using var certificate = server.Files.Authority.Issue("alice");
        using (var alice = server.Connect(certificate))
            Assert.Equal("\"alice\"", alice.Command("ACL WHOAMI").ToString());
        admin.Ok("CONFIG SET tls-auth-clients-user off");
        using var known = server.Connect(certificate);
        Assert.Equal("\"default\"", known.Command("ACL WHOAMI").ToString());
        Assert.Equal("[\"tls-auth-clients-user\" \"off\"]",
            admin.Command("CONFIG GET tls-auth-clients-user").ToString());
        Assert.True(admin.Command("CONFIG SET tls-auth-clients-user OU").IsError);
    }
}
