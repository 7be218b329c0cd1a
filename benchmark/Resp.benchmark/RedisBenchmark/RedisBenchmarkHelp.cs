using RespBenchmark.CommandLine;

namespace RespBenchmark.RedisBenchmark;

/// <summary>What <c>--help</c> says in redis-benchmark's grammar.</summary>
internal static class RedisBenchmarkHelp
{
    public const string Text = $"""
        Resp.benchmark in the grammar of redis-benchmark.
          [OPTIONS]                    runs the tests, each with -n requests
          [OPTIONS] COMMAND ARGS...    runs this command instead; __rand_int__ in it is drawn from -r

        Server
          -h HOST (127.0.0.1)  -p PORT (6379)  -s SOCKET  -a PASSWORD  --user NAME  -u redis[s]://[user:pass@]host:port[/db]
          --dbnum N            SELECT it first             -3   speak RESP3       --enable-tracking   CLIENT TRACKING on
          --tls  --sni HOST  --cacert F  --cacertdir DIR  --insecure  --cert F  --key F  --tls-ciphers LIST  --tls-ciphersuites LIST
        Load
          -c N (50)            connections in total        -n N (100000)   requests of each test
          -P N (1)             requests sent together      -k 0            a new connection for every request
          -d BYTES (3)         of values                   -r N            keys and members from 0 to N-1, drawn for each
          --threads N          client loops                --seed N        the draws'
          -t LIST              only these tests: ping_inline ping_mbulk set get incr lpush rpush lpop rpop sadd hset spop zadd
                               zpopmin lrange (or _100 _300 _500 _600) mset xadd. ping_inline sends the six raw bytes of a
                               typed PING, ping_mbulk the same command as a RESP array; neither carries -d bytes.
          -l                   again and again             -I              only hold -c idle connections
          -x                   the last argument is stdin  -e              accepted; errors always end the run
          --duration S  --warmup S  --rps N  --sequential      as in valkey-benchmark
        Output
          -q                   a line a test               --csv           a row a test
          --precision N (3)    significant digits of the tables, 1 to 4
          --rb-format legacy|7|8   the text and tests of redis 3 to 5, of 7, of 8
          --help  -v, --version
        Refused: --cluster --rdma --fuzz

        {Extras.Help}

        """;
}
