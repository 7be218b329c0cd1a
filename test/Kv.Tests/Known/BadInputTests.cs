using Kv.Tests.Harness;
using Kv.Tests.Transcripts;

namespace Kv.Tests.Known;

/// <summary>Bytes that servers of this kind have stumbled over, in three framings: whole, byte by byte, cut and
/// ended.</summary>
public class BadInputTests
{
    public static TheoryData<string, string, int> Transcripts() => TranscriptTests.All();

    [Theory]
    [MemberData(nameof(Transcripts))]
    public void Known_P09_replies_do_not_depend_on_where_the_bytes_were_cut(string file, string title, int resp)
    {
        using var borrowed = SharedServers.Kv();
        Transcript.Run(borrowed.Server, TranscriptFile.Text(file, title), resp, Framing.ByteByByte);
    }

    [Fact]
    public void Known_P09_a_request_cut_anywhere_and_ended_is_dropped_and_harms_nobody()
    {
        using var borrowed = SharedServers.Kv();
        byte[] wire = RespText.Bytes("*3\r\n$3\r\nSET\r\n$3\r\ncut\r\n$10\r\n0123456789\r\n");
        for (int cut = 0; cut < wire.Length; cut++)
        {
            using var client = borrowed.Server.Connect();
            client.Send(wire.AsSpan(0, cut));
            client.Socket.Shutdown(System.Net.Sockets.SocketShutdown.Send);
            Assert.True(client.IsClosedByServer(), $"cut at {cut}: no reply is due");
        }

        using var after = borrowed.Server.Connect();
        Assert.Equal(":0", after.Command("EXISTS cut").ToString());
    }

    // Names begin with the catalogue's id. Each input is sent whole and byte by byte.
    [Theory]
    [InlineData("P05_integer_as_argument", "*1\\r\\n:4\\r\\n", "-ERR Protocol error: expected '$', got ':'", "close")]
    [InlineData("P05_array_as_argument", "*1\\r\\n*1\\r\\n$4\\r\\nPING\\r\\n",
        "-ERR Protocol error: expected '$', got '*'", "close")]
    [InlineData("P05_line_as_argument", "*1\\r\\n+PING\\r\\n", "-ERR Protocol error: expected '$', got '+'", "close")]
    [InlineData("P05_null_as_argument", "*1\\r\\n_\\r\\n", "-ERR Protocol error: expected '$', got '_'", "close")]
    [InlineData("P06_push_from_a_client", ">1\\r\\n", "-ERR unknown command '>1', with args beginning with:\\s")]
    [InlineData("P06_map_from_a_client", "%1\\r\\n", "-ERR unknown command '%1', with args beginning with:\\s")]
    [InlineData("P10_lf_alone_behind_a_count", "*1\\n$4\\r\\nPING\\r\\n",
        "-ERR Protocol error: invalid multibulk length", "close")]
    [InlineData("P11_negative_count", "*-1\\r\\nPING\\r\\n", "+PONG")]
    [InlineData("P11_empty_count", "*0\\r\\nPING\\r\\n", "+PONG")]
    [InlineData("P11_empty_line", "\\r\\nPING\\r\\n", "+PONG")]
    [InlineData("P11_plus_in_a_count", "*+1\\r\\n$4\\r\\nPING\\r\\n",
        "-ERR Protocol error: invalid multibulk length", "close")]
    [InlineData("P11_zero_before_a_count", "*01\\r\\n$4\\r\\nPING\\r\\n",
        "-ERR Protocol error: invalid multibulk length", "close")]
    [InlineData("P11_space_before_a_count", "* 1\\r\\n$4\\r\\nPING\\r\\n",
        "-ERR Protocol error: invalid multibulk length", "close")]
    [InlineData("P11_count_of_33_bits", "*2147483648\\r\\n", "-ERR Protocol error: invalid multibulk length", "close")]
    [InlineData("P11_negative_length", "*1\\r\\n$-1\\r\\n", "-ERR Protocol error: invalid bulk length", "close")]
    [InlineData("P11_more_negative_length", "*1\\r\\n$-2\\r\\n", "-ERR Protocol error: invalid bulk length", "close")]
    [InlineData("P11_plus_in_a_length", "*1\\r\\n$+4\\r\\nPING\\r\\n",
        "-ERR Protocol error: invalid bulk length", "close")]
    [InlineData("P11_zero_before_a_length", "*1\\r\\n$04\\r\\nPING\\r\\n",
        "-ERR Protocol error: invalid bulk length", "close")]
    [InlineData("P11_no_length", "*1\\r\\n$\\r\\n", "-ERR Protocol error: invalid bulk length", "close")]
    [InlineData("P12_post", "POST / HTTP/1.1\\r\\n", "close")]
    [InlineData("P12_host", "Host: example\\r\\n", "close")]
    [InlineData("P14_empty_then_request", "\\r\\n*1\\r\\n$4\\r\\nPING\\r\\n", "+PONG")]
    [InlineData("P14_nothing_between_requests", "*0\\r\\n\\r\\n*-1\\r\\n*1\\r\\n$4\\r\\nPING\\r\\n", "+PONG")]
    [InlineData("P22_auth_fails_in_a_pipeline", "PING\\r\\nAUTH a b\\r\\nPING\\r\\nAUTH c d\\r\\n", "+PONG",
        "-WRONGPASS <any>", "+PONG", "-WRONGPASS <any>")]
    [InlineData("P23_nul_as_name", "*1\\r\\n$1\\r\\n\\x00\\r\\n", "-ERR unknown command <any>")]
    [InlineData("P23_empty_name", "*1\\r\\n$0\\r\\n\\r\\n", "-ERR unknown command '', with args beginning with:\\s")]
    [InlineData("P07_line_ends_in_a_name", "*1\\r\\n$8\\r\\na\\r\\n+OK\\r\\n\\r\\n",
        "-ERR unknown command 'a  +OK  ', with args beginning with:\\s")]
    [InlineData("P07_line_ends_in_an_argument", "*2\\r\\n$1\\r\\na\\r\\n$6\\r\\n\\r\\n+OK\\n\\r\\n",
        "-ERR unknown command 'a', with args beginning with: '  +OK '\\s")]
    public void Known_P05_to_P23_bad_bytes_get_the_reference_s_answer(
        string name, string input, params string[] replies) => CheckBothFramings(name, input, replies);

    /// <summary>What the reference lets pass and we refuse: a length that lies about its string, a browser,
    /// TLS.</summary>
    [Theory]
    [InlineData("P10_wrong_terminator", "*1\\r\\n$4\\r\\nPINGab", "-ERR Protocol error: <any>", "close")]
    [InlineData("P13_tls_hello", "\\x16\\x03\\x01\\x02\\x00\\x01\\x00\\x01\\xfc\\x03\\x03", "close")]
    public void Known_P10_and_P13_what_the_reference_lets_pass_is_refused(
        string name, string input, params string[] replies) =>
        CheckBothFramings(name, input, replies, "# kv");

    [Fact]
    public void Known_P05_a_picture_ends_the_connection_and_no_other()
    {
        using var borrowed = SharedServers.Kv();
        using var other = borrowed.Server.Connect();
        using var client = borrowed.Server.Connect();
        var picture = new byte[100_000];
        Seed.NewRandom().NextBytes(picture);
        "\x89PNG\r\n\x1a\n"u8.CopyTo(picture);
        try
        {
            client.Send(picture);
        }
        catch (System.Net.Sockets.SocketException)
        {
            // Closed while we still sent.
        }

        // Each line of it is an unknown inline command or a protocol error; either way the end is orderly.
        while (client.HasInput && client.TryRead() is { } reply) Assert.True(reply.IsError, Seed.Hint);
        Assert.Equal("+PONG", other.Command("PING").ToString());
    }

    [Theory]
    [InlineData("\0")]
    [InlineData("*\0")]
    [InlineData("*1\r\n$\0")]
    public void Known_P08_a_flood_behind_a_nul_is_cut_off_at_the_limit(string begin)
    {
        using var borrowed = SharedServers.Kv();
        using var client = borrowed.Server.Connect();
        var flood = new byte[64 * 1024];
        Array.Fill(flood, (byte)'x');
        client.Send(RespText.Bytes(begin));
        bool refused = false;
        // 64 MB at most: the limit of a line is 64 KB.
        for (int i = 0; i < 1024 && !refused; i++)
        {
            try
            {
                client.Send(flood);
                refused = client.HasInput;
            }
            catch (System.Net.Sockets.SocketException)
            {
                refused = true;
            }
        }

        Assert.True(refused, "64 MB without a line end were taken");
    }

    private static void CheckBothFramings(string name, string input, string[] replies, string marker = "#")
    {
        using var borrowed = SharedServers.Kv();
        string text = $"# {name}\n{marker}\n~ \"{input}\"\n" + string.Concat(replies.Select(reply => $"< {reply}\n"));
        Transcript.Run(borrowed.Server, text, 2);
        Transcript.Run(borrowed.Server, text, 2, Framing.ByteByByte);
    }
}
