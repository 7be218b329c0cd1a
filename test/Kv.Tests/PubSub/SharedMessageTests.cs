using System.Text;
using Kv.Server.PubSub;

namespace Kv.Tests.PubSub;

public class SharedMessageTests
{
    [Theory]
    [InlineData("ch", "hello")]
    [InlineData("", "")]
    [InlineData("123456789", "1234567890")]
    public void A_message_is_an_array_of_three_bulk_strings(string channel, string payload)
    {
        var message = SharedMessage.Encode("message"u8, Bytes(channel), Bytes(payload), null);
        Assert.Equal(
            $"*3\r\n$7\r\nmessage\r\n${channel.Length}\r\n{channel}\r\n${payload.Length}\r\n{payload}\r\n",
            Text(message, push: false));
        message.Release();
    }

    [Fact]
    public void A_pattern_message_names_the_pattern_first()
    {
        var message = SharedMessage.Encode("pmessage"u8, "c*"u8, "ch"u8, "x"u8, null);
        Assert.Equal("*4\r\n$8\r\npmessage\r\n$2\r\nc*\r\n$2\r\nch\r\n$1\r\nx\r\n", Text(message, push: false));
        message.Release();
    }

    [Fact]
    public void In_RESP3_only_the_first_byte_differs()
    {
        var message = SharedMessage.Encode("message"u8, "ch"u8, "x"u8, null);
        Assert.Equal(">" + Text(message, push: false)[1..], Text(message, push: true));
        message.Release();
    }

    [Fact]
    public void The_block_is_freed_with_the_last_reference_and_not_before()
    {
        long bytes = 0;
        var message = SharedMessage.Encode("message"u8, "ch"u8, new byte[1000], change => bytes += change);
        Assert.Equal(message.Length + SharedMessage.OverheadBytes, bytes);
        message.AddReferences(2);
        message.Release();
        message.Release();
        Assert.Equal(message.Length + SharedMessage.OverheadBytes, bytes);
        message.Release();
        Assert.Equal(0, bytes);
    }

    private static byte[] Bytes(string text) => Encoding.Latin1.GetBytes(text);

    private static string Text(SharedMessage message, bool push)
    {
        string text = (char)SharedMessage.Prefix(push) + Encoding.Latin1.GetString(message.Body);
        Assert.Equal(message.Length, text.Length);
        return text;
    }
}
