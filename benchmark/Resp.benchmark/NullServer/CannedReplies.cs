using System.Globalization;
using System.Text;

namespace RespBenchmark.NullServer;

/// <summary>The reply to a command, by its name and number of arguments; each made once.</summary>
/// <remarks>Threads: one loop's own, so that nothing is shared on the path of a reply.</remarks>
internal sealed class CannedReplies : IDisposable
{
    private const long ReplyBytesMax = 1L << 30;

    private readonly NullServerOptions _options;
    private readonly string _value, _otherValue;
    private readonly Dictionary<string, ReplyPattern> _byText = [];
    private readonly Dictionary<(string Name, int Arguments), ReplyPattern> _byCommand = [];

    public CannedReplies(NullServerOptions options)
    {
        _options = options;
        _value = Bulk(new string('x', options.ValueBytes));
        _otherValue = Bulk(new string('y', options.ValueBytes));
    }

    /// <summary>The reply to a command of <paramref name="arguments"/> arguments, its name among them.</summary>
    public ReplyPattern Find(ReadOnlySpan<byte> name, int arguments)
    {
        string upper = Encoding.Latin1.GetString(name).ToUpperInvariant();
        if (_byCommand.TryGetValue((upper, arguments), out ReplyPattern? reply)) return reply;
        reply = Pattern(_options.Reply is { } text ? Literal(text) : TextFor(upper, arguments));
        _byCommand.Add((upper, arguments), reply);
        return reply;
    }

    /// <summary>The faulty reply in the place of a right one; null where the fault is not to answer.</summary>
    public ReplyPattern? Faulty(ReplyPattern right) => _options.Fault switch
    {
        NullFault.Errors => Pattern("-ERR asked for by --bad errors\r\n"),
        NullFault.Type => Pattern(right.Reply[0] == '+' ? ":7\r\n" : "+WRONG\r\n"),
        NullFault.Bytes => Pattern("!@#no RESP at all\r\n"),
        NullFault.Value => right.Reply[0] == '$' ? Pattern(_otherValue) : right,
        NullFault.Short
            when right.ReplyBytes > 1 => Pattern(Encoding.Latin1.GetString(right.Reply[..(right.ReplyBytes / 2)])),
        _ => null,
    };

    public void Dispose()
    {
        foreach (ReplyPattern pattern in _byText.Values) pattern.Dispose();
    }

    private ReplyPattern Pattern(string text)
    {
        if (!_byText.TryGetValue(text, out ReplyPattern? pattern))
            _byText.Add(text, pattern = new ReplyPattern(Encoding.Latin1.GetBytes(text)));
        return pattern;
    }

    private string TextFor(string name, int arguments) => name switch
    {
        "PING" => "+PONG\r\n",
        "GET" or "HGET" or "GETEX" or "GETDEL" or "LPOP" or "RPOP" or "SPOP" or "LINDEX" or "GETRANGE" or "EVALSHA"
        or "EVAL" or "ECHO"
            or "HRANDFIELD" or "SRANDMEMBER" or "RANDOMKEY" or "XADD" => _value,
        "ZSCORE" or "INCRBYFLOAT" => "$1\r\n1\r\n",
        "DEL" or "UNLINK" or "EXISTS" or "INCR" or "INCRBY" or "DECR" or "DECRBY" or "APPEND" or "STRLEN" or "EXPIRE"
        or "PEXPIRE" or "TTL"
            or "HSET" or "HDEL" or "HLEN" or "LPUSH" or "RPUSH" or "LLEN" or "SADD" or "SREM" or "SCARD" or "SISMEMBER"
            or "ZADD" or "ZREM"
            or "ZCARD" or "ZRANK" or "GEOADD" or "PFADD" or "PFCOUNT" or "SETBIT" or "GETBIT" or "BITCOUNT"
            or "BITPOS" or "BITOP"
            or "PUBLISH" or "SPUBLISH" or "SETNX" or "MSETNX" => ":1\r\n",
        "DBSIZE" => $":{_options.Keys.ToString(CultureInfo.InvariantCulture)}\r\n",
        "MGET" => ArrayOf(arguments - 1),
        "LRANGE" or "SMEMBERS" or "HGETALL" or "ZRANGE" or "ZPOPMIN" => ArrayOf(_options.Elements),
        "BITFIELD" => "*1\r\n:1\r\n",
        "INFO" => Bulk(
            $"# Server\r\nredis_version:7.0.0\r\nserver_name:null-server\r\nprocess_id:{Environment.ProcessId}\r\n"),
        "CONFIG" => "*0\r\n",
        "COMMAND" => "*0\r\n",
        "SCRIPT" => Bulk(new string('0', 40)),
        "HELLO" => "%1\r\n$5\r\nproto\r\n:3\r\n",
        _ => "+OK\r\n",
    };

    private string ArrayOf(int count) => (long)count * _value.Length > ReplyBytesMax
        ? "-ERR the null server's replies end at 1 GB\r\n"
        : $"*{count}\r\n{new StringBuilder().Insert(0, _value, Math.Max(0, count))}";

    private static string Literal(string text) => text switch
    {
        "ok" => "+OK\r\n",
        "pong" => "+PONG\r\n",
        "one" => ":1\r\n",
        "nil" => "$-1\r\n",
        "empty" => "*0\r\n",
        _ => text.Replace("\\r", "\r", StringComparison.Ordinal).Replace("\\n", "\n", StringComparison.Ordinal),
    };

    private static string Bulk(string body) => $"${body.Length}\r\n{body}\r\n";
}
